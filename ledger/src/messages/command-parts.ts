import type { Address } from "@inference/protocol/credential";
import type { KeyLimit } from "@inference/protocol/key-limit";
import type { NanoUsd } from "@inference/protocol/money";
import type { WebhookEvent } from "@inference/protocol/webhook";
import type { Window } from "@inference/protocol/window";
import type { Partition } from "./partition.ts";

/** Types that several commands and replies share. */

/** The credential that pays: an API key out of its account's balance, or a session out of its identity's capacity. */
export type PayerCredential = { kind: "key" | "session" /** The credential's digest. */; digest: string };

/** The budgets that can refuse a request. */
export type BudgetName = "balance" | "key" | "capacity" | "ceiling";

/**
 * Why a reserve was refused.
 *
 * - `settled`: the settled amount leaves no room until the budget's window ends, or ever
 * - `held`: there would be room without the holds of other requests, or the allowances of other accounts
 * - `in_flight`: the account has the maximum of requests in flight
 * - `share`: the request alone is above the part of the ceiling that one account may hold
 * - `share_held`: together with the account's holds, it is above the part of the free ceiling
 */
export type Refusal = {
  budget: BudgetName;
  cause: "settled" | "held" | "in_flight" | "share" | "share_held";
  neededNanoUsd: NanoUsd;
  availableNanoUsd: NanoUsd;
  window: Window;
  /** When the window ends; null for a lifetime. */
  resetsAt: number | null;
};

/** The terms of a key beside its first limit in dollars, which has columns of its own. */
export type KeyTerms = {
  limits: readonly KeyLimit[];
  /** Patterns of the models that it may use (`model-pattern.ts`); null: all. */
  models: readonly string[] | null;
  /** Whether it may use the provider's private models only. */
  isPrivate: boolean;
};

/** The model of a request, for the terms of its key. */
export type UsedModel = { id: string; isPrivate: boolean };

/** Why a request does not fit into a limit of its key now. The causes are those of a `Refusal`. */
export type Excess = {
  limit: KeyLimit;
  cause: "settled" | "held";
  needed: number;
  available: number;
  resetsAt: number | null;
};

/** A name that one request can have at a time, until it expires: see `claim.ts`. */
export type Claim = {
  id: string;
  /** A digest of the request's content. The same name with other content is an error. */
  fingerprint: string;
  expiresAt: number;
};

/** The agent that serves a request, its token in lower case, and the hash of its offer. */
export type OfferName = { agent: Address; offer: string };

/** Why a credential is invalid. */
export type CredentialFault = "unknown" | "revoked" | "disabled" | "expired";

/** The amount that an account can reserve afterwards. Absent for an identity. A repeated command reads it anew. */
export type Left = { availableNanoUsd?: NanoUsd };

export type ReserveReply =
  | ({ status: "reserved"; keyId: string | null; leaseUntil: number } & Left)
  /** Nothing is held. The shared limits are to be asked, and the reserve sent again with their answers. */
  | { status: "asks"; asks: readonly Ask[] }
  | { status: "refused"; refusal: Refusal }
  /** A limit of the key on requests or tokens refuses. */
  | { status: "limited"; excess: Excess }
  /** The key's terms do not allow the model. */
  | { status: "model_not_allowed"; terms: KeyTerms }
  | { status: "unauthenticated"; fault: CredentialFault }
  /** The name that the request claims belongs to an earlier request, `by`, which has not failed. */
  | { status: "claimed"; by: string; state: "in_progress" | "completed" | "mismatch" }
  | { status: "clock_skew" }
  | { status: "conflict" }
  | Unheard;

/** The account has not heard the chain's totals in this epoch. It is to `hear` them first. */
export type Unheard = { status: "unheard"; epoch: number };

export type ResolveReply =
  | ({ status: "settled" | "released" } & Left)
  | { status: "already_resolved" | "unknown" | "exceeds_hold" }
  | Unheard;

/** The amount that an account used of a shared limit on a day, and the total that it asks for. */
export type Allow = {
  type: "allow";
  account: Partition;
  /** The start of the UTC day. */
  day: number;
  /** The number of the ask. */
  askedAt: number;
  usedNanoUsd: NanoUsd;
  /** The same and what is held. A refused raise lowers to it. */
  leastNanoUsd: NanoUsd;
  /** The same and the request. */
  neededNanoUsd: NanoUsd;
  /** The preferred amount: `neededNanoUsd`, and in pieces also the request a second time and the piece. */
  wantedNanoUsd: NanoUsd;
  /** At an agent's identity: the hash of the offer that a raise needs. */
  offer: string | null;
};

/** An account's ask to a shared limit. */
export type Ask = { limit: Partition; command: Allow };

/** A shared limit's reply to an ask: the row after it. */
export type AllowReply = {
  status: "allowed" | "refused";
  usedNanoUsd: NanoUsd;
  allowedNanoUsd: NanoUsd;
  askedAt: number;
  /** Whether the account may keep what it does not use until the day is over. */
  stays: boolean;
  /** Why the raise was refused. */
  refusal: Refusal | null;
};

/** A limit's reply, as the account receives it. */
export type AllowAnswer = { limit: Partition; day: number } & AllowReply;

/** One `Activated` event of the settlement contract. Token amounts are decimal strings. */
export type Activation = {
  id: number;
  account: string;
  amountToken: string;
  /** The totals of all accounts, and of this one, after it. */
  totalActivated: string;
  accountActivatedNanoUsd: NanoUsd;
  block: number;
  transaction: string;
};

/** One `Settled` event of the settlement contract, decoded. */
export type SettledChunk = {
  root: string;
  /** The UTC day whose ceiling paid. */
  day: string;
  amountNanoUsd: NanoUsd;
  paidAfterNanoUsd: NanoUsd;
  /** A decimal string, because it may exceed 2^53. */
  totalDebitedNanoUsd: string;
  records: readonly ChunkRecord[];
  block: number;
  transaction: string;
};

/** A `SettleRecord` of the protocol, its parts as JSON. */
export type ChunkRecord = {
  account: string;
  beforeNanoUsd: NanoUsd;
  amountNanoUsd: NanoUsd;
  root: string;
  parts: string;
  /** To the chunk's root: the nodes in hexadecimal, one after another. */
  proof: string;
};

/** An account's report of its open statement. */
export type Statement = {
  beforeNanoUsd: NanoUsd;
  afterNanoUsd: NanoUsd;
  root: string;
  /** JSON: `ServedPart[]`. */
  parts: string;
  /** When its oldest use was admitted. */
  oldestAt: number;
};

/** The totals of an account by a final block, and the statement that the chain's partition knows. */
export type Hearing = {
  /** The reading of the chain. A later one is larger, and replaces. */
  replay: number;
  activatedNanoUsd: NanoUsd;
  debitedNanoUsd: NanoUsd;
  /** The root of the last record. */
  lastRoot: string | null;
  told: Statement | null;
};

/** A record in a transaction, by its account and the total at which it begins. */
export type RecordName = { account: string; beforeNanoUsd: NanoUsd };

/** When a statement is due (settings of the operator). */
export type PostingTerms = {
  /** Due at once from this amount. */
  postNanoUsd: NanoUsd;
  /** Due from this amount once its oldest use is so old. */
  leastNanoUsd: NanoUsd;
  intervalMs: number;
};

/** A URL of an account that is told events. */
export type Webhook = {
  id: string;
  url: string;
  events: readonly WebhookEvent[];
  /** `balance.low` is told when the balance falls below it. Null: never. */
  thresholdNanoUsd: NanoUsd | null;
  createdAt: number;
};

/** An event of an account, as its webhooks are told it. */
export type AccountEvent =
  | { type: "balance.low"; balanceNanoUsd: NanoUsd; thresholdNanoUsd: NanoUsd }
  | {
      type: "key.limit_near" | "key.limit_reached";
      keyId: string;
      name: string;
      window: Window;
      limitNanoUsd: NanoUsd;
      usedNanoUsd: NanoUsd;
      resetsAt: number | null;
    }
  | { type: "credit.added"; amountNanoUsd: NanoUsd; balanceNanoUsd: NanoUsd }
  | { type: "offer.ended"; agent: string; offer: string; reason: "withdrawn" | "agent_changed" };

/** An event for one webhook, and the state of its delivery. */
export type Notice = {
  /** Unique among all accounts, and the same at each try. */
  id: string;
  webhook: string;
  at: number;
  event: AccountEvent;
  tries: number;
  /** The time of the next try; null if it was delivered or given up. */
  nextAt: number | null;
  triedAt: number | null;
  isDelivered: boolean;
  /** The result of the last try: the status of the answer, or a word for the failure. */
  result: string | null;
};

/** One try to deliver a notice. */
export type NoticeTry = { id: string; isDelivered: boolean; result: string };

/** A request's part of the day's totals, without its charge. A tag has no line break. */
export type Tally = { model: string; promptTokens: number; completionTokens: number; tag?: string };
