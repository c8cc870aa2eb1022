import type { Window } from "@inference/protocol/window";

/**
 * The rows of a partition: the one authority on its state. Both hosts store exactly these, under the schema that
 * `schema.ts` derives from the same description. Every row has an `id`, unique within its table and partition.
 *
 * A value is a string, a safe integer or null. Amounts are in nano-dollars, times in ms since the epoch.
 */
export type BudgetRow = {
  /** `balance`, `key:<keyId>`, `ceiling`, `capacity:<dayStart>`. */
  id: string;
  window: Window;
  /** Null: counted, not limited. */
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
  /** The partition that decides how the hold ends: this one, or the one to ask. */
  owner: string;
  amountNanoUsd: number;
  /** What was charged, once settled. */
  chargeNanoUsd: number;
  /** The counters it counts in, separated by spaces. */
  counters: string;
  /** The partitions that hold for the same request and follow this one, separated by spaces. */
  followers: string;
  admittedAt: number;
  leaseUntil: number;
  /** The last checkpoint: the charge of what had been delivered by then, and the provider's id of the answer. */
  deliveredNanoUsd: number;
  upstreamId: string | null;
  keyId: string | null;
  /** What made it, to tell a repeated command from a conflicting one. */
  fingerprint: string;
  /** JSON: of an admitted request what its settlement needs (route, model, prices); of a refused one, the refusal. */
  detail: string;
};

export type KeyRow = {
  id: string;
  name: string;
  /** First and last letters of the secret, to recognise it by. */
  label: string;
  digest: string;
  window: Window;
  limitNanoUsd: number | null;
  disabled: number;
  revokedAt: number | null;
  expiresAt: number | null;
  createdAt: number;
  /** Of the signed message that made its secret, so that the message's repetition is recognised. */
  nonce: string;
  /** Of a key that was made before its account was ever credited: how long it waits for that. Null: it does not. */
  unpaidUntil: number | null;
};

/** Which key a secret's digest belongs to. */
export type SecretRow = { id: string; keyId: string };

/** The one row an account keeps of itself. */
export type AccountRow = { id: "account"; keys: number; createdAt: number };

export type NonceRow = {
  id: string;
  expiresAt: number;
  /**
   * Of the session it was spent for, or of the change of a key that it was spent for; null: for a key's secret, which
   * remembers its nonce itself, or by an older version.
   */
  digest: string | null;
};

/** The name under which a request was made, so that it is made once. */
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
  /** JSON: route, model, usage, prices, how the charge came about. */
  detail: string;
};

/** What the receipts of a day, a key and a model come to. It stays when they are forgotten. */
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
  server: string;
};

export type OutboxRow = {
  /** `<cause>><target>`: the same delivery has the same id. */
  id: string;
  target: string;
  /** JSON of the command; repeating it is harmless. */
  command: string;
};

/** How far a chain was read; in the ceiling's partition, in which block the ceiling was seen lowered. */
export type CursorRow = {
  id: "cursor";
  block: number;
  blockHash: string;
  lastActivationId: number;
  /** Total of everything activated so far, in token units: a decimal string, for the chain counts beyond 2^53. */
  totalActivated: string;
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
};
export type TableName = keyof Tables;
export type Row = Tables[TableName];

/** The state of one partition, as a command sees it. */
export type Rows = {
  get<T extends TableName>(table: T, id: string): Tables[T] | undefined;
};

/**
 * What can be looked for as well: a table in the order of its ids, or against it, the keys that live, and the holds
 * that have not ended.
 */
export type ReadRows = Rows & {
  list<T extends TableName>(table: T, range: { after?: string; limit: number }): Tables[T][];
  newest<T extends TableName>(table: T, range: { before: string; limit: number }): Tables[T][];
  /** Those that are not revoked, `MAX_KEYS_PER_ACCOUNT` at most, in the order of their ids. */
  liveKeys(): KeyRow[];
  /** Those open or orphaned, in the order of their ids. */
  unresolvedHolds(): HoldRow[];
};

export type Change = { [T in TableName]: { table: T; id: string; row: Tables[T] | null } }[TableName];
