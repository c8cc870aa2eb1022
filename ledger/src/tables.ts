import type { Window } from "@inference/protocol/window";

/**
 * The rows of a partition, which are the authority on its state. Both hosts store exactly these, with the schema that
 * `schema.ts` derives from the same description. Every row has an `id`, unique within its table and partition.
 *
 * A value is a string, a safe integer or null. Amounts are in nano-dollars, times in ms since the epoch.
 */
export type BudgetRow = {
  /** `balance`, `key:<keyId>`, `ceiling`, `capacity:<dayStart>`. */
  id: string;
  window: Window;
  /** Null: no limit. */
  limitNanoUsd: number | null;
};

export type CounterRow = {
  /** `<budget>@<windowStart>`. */
  id: string;
  settledNanoUsd: number;
  heldNanoUsd: number;
  openHolds: number;
};

export const holdStates = ["open", "orphaned", "settled", "released", "refused"] as const;
export type HoldState = (typeof holdStates)[number];

export type HoldRow = {
  /** The request's id. */
  id: string;
  state: HoldState;
  /** The partition that decides how the hold ends: this one, or another one that is asked. */
  owner: string;
  amountNanoUsd: number;
  /** The charge, once settled. */
  chargeNanoUsd: number;
  /** The counters that include it, separated by spaces. */
  counters: string;
  /** The followers of this hold, separated by spaces. */
  followers: string;
  admittedAt: number;
  leaseUntil: number;
  /** The last checkpoint: the charge for what was delivered by then, and the provider's id of the answer. */
  deliveredNanoUsd: number;
  upstreamId: string | null;
  keyId: string | null;
  /** The command that created it, to distinguish a repeated command from a conflicting one. */
  fingerprint: string;
  /** JSON: of an admitted request what its settlement needs (route, model, prices); of a refused one, the refusal. */
  detail: string;
  /** The agent whose offer serves the request, its token in lower case, and the offer's hash. Null: the protocol. */
  server: string | null;
  offer: string | null;
  /** The shard of the ceiling that admits it, of an account's hold. Null: the ceiling, or none. */
  ceiling: string | null;
};

export type KeyRow = {
  id: string;
  name: string;
  /** First and last characters of the key, to recognise it. */
  label: string;
  digest: string;
  window: Window;
  limitNanoUsd: number | null;
  disabled: number;
  revokedAt: number | null;
  expiresAt: number | null;
  createdAt: number;
  /** The nonce of the message that created its secret, to recognise a repeated message. */
  nonce: string;
  /** How long a key without any credit in its account waits for the first one. Null: it does not wait. */
  unpaidUntil: number | null;
};

/** The key of a secret's digest. */
export type SecretRow = { id: string; keyId: string };

/** The one row of an account. */
export type AccountRow = { id: "account"; keys: number; createdAt: number };

export type NonceRow = {
  id: string;
  expiresAt: number;
  /**
   * The digest of the session, or the id of the change of a key, that used the nonce. Null for a key's secret, because
   * the key has the nonce itself, and for rows of an older version.
   */
  digest: string | null;
};

/** The last offer of an agent. It stays for ever, because of its nonce. */
export type OfferRow = {
  id: "offer";
  hash: string;
  /** Days since 1970; 0: every day. */
  day: number;
  /** 0: it withdraws what was offered before. */
  shareBps: number;
  nonce: number;
  since: number;
  /** The computer that signed it, and who owned the agent then: the offer ends with either. */
  computer: string;
  owner: string;
  endedAt: number | null;
};

/** The claimed name of a request, under which it is served once. */
export type ClaimRow = { id: string; requestId: string; fingerprint: string; expiresAt: number };

export type SessionRow = {
  /** The token's digest. */
  id: string;
  address: string;
  agentToken: string | null;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
};

export type CreditRow = { id: string; amountNanoUsd: number; creditedAt: number; detail: string };

export type ReceiptRow = {
  id: string;
  admittedAt: number;
  resolvedAt: number;
  /** `settled` or `released`. */
  outcome: string;
  chargeNanoUsd: number;
  heldNanoUsd: number;
  /** What the provider bills for this request and no customer owes. */
  lossNanoUsd: number;
  keyId: string | null;
  /** JSON: route, model, usage, prices, and the basis of the charge. */
  detail: string;
};

/** The sum of the receipts of a day, a key and a model. It stays when they are forgotten. */
export type TotalRow = {
  /** `<utc-day> <keyId> <model>`, without a key for a session's requests: see `totals.ts`. */
  id: string;
  requests: number;
  chargeNanoUsd: number;
  promptTokens: number;
  completionTokens: number;
};

/** One settled prepaid request, in the journal of its day. */
export type UseRow = {
  id: string;
  account: string;
  chargeNanoUsd: number;
  admittedAt: number;
  /** Whose account at the provider paid: `protocol`, or an agent's token in lower case. */
  server: string;
  /** The id of the batch that posts it; null: it waits, or cost nothing; `NOT_POSTED`: no batch does. */
  batch: number | null;
  /** The hash of the agent's offer; null if the protocol's account served it. */
  offer: string | null;
  /**
   * Why no batch posts it: the settler's reason, or `rebuilt` if lost books may have posted it. Null also where an older
   * version set it aside.
   */
  setAside: string | null;
};

/** What a journal has given to batches. */
export type GatheringRow = {
  id: "gathering";
  /** No use up to this id waits. */
  gatheredTo: string;
  /** The batch that last took uses from it, when that was opened, and the first and last of them. */
  batch: number | null;
  openedAt: number;
  firstUse: string | null;
  lastUse: string | null;
  /** In a day's own journal: the journals of its shards that have uses, separated by spaces. Null: there are none. */
  shards: string | null;
};

export const batchStates = ["open", "built", "signed", "settled", "rejected"] as const;

/** Uses that are posted on chain together: see `batch.ts`. */
export type BatchRow = {
  /** Its number, with leading zeros. */
  id: string;
  state: (typeof batchStates)[number];
  /** The journal that has its uses: a UTC day, or a UTC day and a shard. */
  journal: string;
  openedAt: number;
  /** Of its uses, once it is built: Merkle root, number, sum, and the first and the last of their journal. */
  root: string | null;
  uses: number;
  amountNanoUsd: number;
  firstUse: string | null;
  lastUse: string | null;
  /** How many transactions were signed for it. */
  transactions: number;
  /** The hash of the transaction that settled it, the transaction's block, and when it was seen to be final. */
  settledBy: string | null;
  block: number | null;
  settledAt: number | null;
  /** `entriesDigest` of what it debits, once it is built. Null also for a batch of an older version. */
  entries: string | null;
};

export const batchOrigins = ["ours", "foreign", "accepted"] as const;

/** A batch as the events of the chain tell it, final. */
export type PostedRow = {
  /** Its number, with leading zeros. */
  id: string;
  /**
   * `foreign`: this ledger did not post it, and has taken what it debited from the balances. `accepted`: the operator
   * has rebuilt the books since.
   */
  origin: (typeof batchOrigins)[number];
  /** The UTC day whose ceiling it was paid from. */
  day: string;
  root: string;
  amountNanoUsd: number;
  /** What all batches up to this one have debited on its day, and ever: a decimal string. */
  paidAfterNanoUsd: number;
  totalDebitedNanoUsd: string;
  block: number;
  /** Of the transaction. */
  hash: string;
};

/** The credit of an account on the chain, after the last event that was read. Its id is the account's address. */
export type OnchainRow = { id: string; creditNanoUsd: number };

/** What was taken from a balance because the chain has no credit for it: by a foreign batch, or by a rebuild. */
export type DebitRow = { id: string; amountNanoUsd: number; debitedAt: number; detail: string };

/** A day's reconciliation. Its id is the UTC day. */
export type ReconciliationRow = {
  id: string;
  at: number;
  /** Null while uses of the day wait. */
  closedAt: number | null;
  unexplainedNanoUsd: number;
  /** JSON: a `Reconciliation`. */
  detail: string;
};

/** A transaction that was signed for a batch, and may have been sent. */
export type TransactionRow = {
  /** The batch's id, a dot, and the transaction's place among those of the batch. */
  id: string;
  hash: string;
  /** As it is sent, in hexadecimal. */
  raw: string;
  nonce: number;
  /** The most that it pays for a unit of gas, in wei: a decimal string. */
  maxFeePerGasWei: string;
  /** The UTC day whose ceiling it is paid from. */
  day: string;
  signedAt: number;
};

export type OutboxRow = {
  /** `<cause>><target>`: the same delivery has the same id. */
  id: string;
  target: string;
  /** JSON of the command; repeating it is harmless. */
  command: string;
};

/** What an account, or a shard of the ceiling, has taken of a day's ceiling and admits from: see `block.ts`. */
export type BlockRow = {
  /** The start of the day. */
  id: string;
  /** The request with which it was drawn, under whose id the ceiling holds it; and when that was admitted. */
  drawnBy: string;
  drawnAt: number;
  amountNanoUsd: number;
  /** It admits nothing from then on. */
  closesAt: number;
  /** The shard of the ceiling that holds it. Null: the ceiling. */
  ceiling: string | null;
};

/** How far a chain was read. In the ceiling's partition: the block in which the ceiling was lowered. */
export type CursorRow = {
  id: "cursor";
  block: number;
  blockHash: string;
  lastActivationId: number;
  /** The total of all activations, in token units. A decimal string, because it may exceed 2^53. */
  totalActivated: string;
  /** The same of batches, in nano-dollars. Null: an older version read the chain, and it is read again. */
  lastBatchId: number | null;
  totalDebitedNanoUsd: string | null;
  /** The first foreign batch that the operator has not accepted. */
  foreignBatch: number | null;
};

export type Tables = {
  budget: BudgetRow;
  counter: CounterRow;
  hold: HoldRow;
  key: KeyRow;
  secret: SecretRow;
  account: AccountRow;
  nonce: NonceRow;
  claim: ClaimRow;
  session: SessionRow;
  credit: CreditRow;
  receipt: ReceiptRow;
  total: TotalRow;
  use: UseRow;
  outbox: OutboxRow;
  cursor: CursorRow;
  gathering: GatheringRow;
  batch: BatchRow;
  transaction: TransactionRow;
  posted: PostedRow;
  onchain: OnchainRow;
  debit: DebitRow;
  reconciliation: ReconciliationRow;
  offer: OfferRow;
  block: BlockRow;
};
export type TableName = keyof Tables;
export type Row = Tables[TableName];

/** The state of one partition, as a command sees it. */
export type Rows = {
  get<T extends TableName>(table: T, id: string): Tables[T] | undefined;
};

/** The rows of a partition for reads, which can also list a table by id, the live keys, and the unresolved holds. */
export type ReadRows = Rows & {
  list<T extends TableName>(table: T, range: { after?: string; limit: number }): Tables[T][];
  newest<T extends TableName>(table: T, range: { before: string; limit: number }): Tables[T][];
  /** The keys that are not revoked, at most `MAX_KEYS_PER_ACCOUNT`, in the order of their ids. */
  liveKeys(): KeyRow[];
  /** The open and orphaned holds, in the order of their ids. */
  unresolvedHolds(): HoldRow[];
};

export type Change = { [T in TableName]: { table: T; id: string; row: Tables[T] | null } }[TableName];
