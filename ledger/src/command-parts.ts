import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";

/** What several commands and replies have in common. */

/** Who pays for a request: an API key out of its account's balance, or a session out of its identity's capacity. */
export type Payer = { kind: "key" | "session" /** The credential's digest. */; digest: string };

/** The budgets that can refuse a request. */
export type BudgetName = "balance" | "key" | "capacity" | "ceiling";

/**
 * Why a reserve was refused.
 *
 * - `settled`: the settled amount leaves no room until the budget's window ends, or ever
 * - `held`: there would be room without the holds of other requests
 * - `in_flight`: the account has the maximum of requests in flight
 * - `share`: the request alone is above the part of the ceiling that one account may hold
 * - `share_held`: together with the account's holds, it is
 */
export type Refusal = {
  budget: BudgetName;
  cause: "settled" | "held" | "in_flight" | "share" | "share_held";
  /** Whether the account's own holds alone leave no room, as far as that is certain around midnight. */
  isOwn?: true;
  neededNanoUsd: NanoUsd;
  availableNanoUsd: NanoUsd;
  window: Window;
  /** When the window ends; null for a lifetime. */
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

export type ReserveReply =
  | ({ status: "reserved"; keyId: string | null; leaseUntil: number } & CeilingTerms)
  | { status: "refused"; refusal: Refusal }
  | { status: "unauthenticated"; fault: CredentialFault }
  /** The name that the request claims belongs to an earlier request, `by`, which has not failed. */
  | { status: "claimed"; by: string; state: "in_progress" | "completed" | "mismatch" }
  | { status: "clock_skew" }
  | { status: "conflict" };

/** What an admission says of the ceiling: see `block.ts`. A shard of the ceiling is a ceiling, and an owner as well. */
export type CeilingTerms = {
  /** Owner: its block covers the request, so the ceiling is not asked. */
  isCovered?: true;
  /** Owner: what it would take of the ceiling with this request. */
  wantedNanoUsd?: NanoUsd;
  /** Owner: what a block must cover at once. It opens none that is smaller. */
  leastNanoUsd?: NanoUsd;
  /** Ceiling: what it holds, if more than the request may be held. */
  heldNanoUsd?: NanoUsd;
  /** Shard: what it holds of the account besides, of a request that it does not cover. */
  ownNanoUsd?: NanoUsd;
  /** Ceiling, to a shard that may draw a block: the day's limit. */
  limitNanoUsd?: NanoUsd;
};

/** One `Activated` event of the settlement contract. Amounts in token units, decimal strings. */
export type Activation = {
  id: number;
  account: string;
  amountToken: string;
  totalActivated: string;
  block: number;
  transaction: string;
};

/** A batch by its id on chain and the time at which it was opened: a dropped batch's id is given again. */
export type BatchName = { batch: number; openedAt: number };

/** The first and the last use that a batch took from its journal. */
export type UseRange = { firstUse: string; lastUse: string };

/** What the totals of a day count of a request, besides its charge. */
export type Tally = { model: string; promptTokens: number; completionTokens: number };

export type ResolveReply = { status: "settled" | "released" | "already_resolved" | "unknown" | "exceeds_hold" };
