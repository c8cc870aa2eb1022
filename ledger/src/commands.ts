import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";
import type { HoldState } from "./tables.ts";

/**
 * Every command, and what it answers. A command carries an id made by its caller (the request's, the activation's, the
 * message's nonce), so that repeating it is harmless: the same id with the same content answers as before and changes
 * nothing; with other content it is a conflict.
 */

/** Who pays for a request: an API key out of its account's balance, or a session out of its identity's capacity. */
export type Payer = { kind: "key" | "session" /** The credential's digest. */; digest: string };

/** The budgets a request can be refused by. */
export type BudgetName = "balance" | "key" | "capacity" | "ceiling";

/**
 * Why a reserve was refused.
 *
 * - `settled`: what is settled leaves no room until the budget's window ends, or for ever
 * - `held`: there is room, but for what other requests hold
 * - `in_flight`: the account has as many requests in flight as it may
 * - `share`: the request alone is above what one account may hold of the ceiling
 * - `share_held`: with what the account holds already, it is
 */
export type Refusal = {
  budget: BudgetName;
  cause: "settled" | "held" | "in_flight" | "share" | "share_held";
  /** Held by who asks, as far as it is sure around midnight: it would not fit if all others let go. */
  isOwn?: true;
  neededNanoUsd: NanoUsd;
  availableNanoUsd: NanoUsd;
  window: Window;
  /** When the window ends; null for a lifetime. */
  resetsAt: number | null;
};

/** A name that one request may have at a time, until it expires: see `claim.ts`. */
export type Claim = {
  id: string;
  /** What was asked for under it: under the same name it is the same, or a mistake. */
  fingerprint: string;
  expiresAt: number;
};

/** Why a credential is none. */
export type CredentialFault = "unknown" | "revoked" | "disabled" | "expired";

export type ReserveReply =
  | { status: "reserved"; keyId: string | null; leaseUntil: number }
  | { status: "refused"; refusal: Refusal }
  | { status: "unauthenticated"; fault: CredentialFault }
  /** The name that the request claims belongs to an earlier one, `by`, that has not failed. */
  | { status: "claimed"; by: string; state: "in_progress" | "completed" | "mismatch" }
  | { status: "clock_skew" }
  | { status: "conflict" };

/** What a request is counted under in the totals of its day, beside its key and its charge. */
export type Tally = { model: string; promptTokens: number; completionTokens: number };

export type ResolveReply = { status: "settled" | "released" | "already_resolved" | "unknown" | "exceeds_hold" };

export type Commands = {
  /** Owner: hold the most a request can cost, in every budget that binds its payer. */
  reserve: {
    command: {
      type: "reserve";
      id: string;
      at: number;
      amountNanoUsd: NanoUsd;
      leaseMs: number;
      payer: Payer;
      followers: readonly string[];
      detail: string;
      claim?: Claim;
    };
    reply: ReserveReply;
  };
  /** Ceiling: hold the same under the day's ceiling. */
  reserveCeiling: {
    command: {
      type: "reserveCeiling";
      id: string;
      at: number;
      amountNanoUsd: NanoUsd;
      leaseMs: number;
      owner: string;
    };
    reply: ReserveReply;
  };
  /** Owner: what had been delivered by now. */
  checkpoint: {
    command: { type: "checkpoint"; id: string; deliveredNanoUsd: NanoUsd; upstreamId: string | null };
    reply: { status: "written" | "already_resolved" | "unknown" };
  };
  /** Owner: the request is over and cost this. At most the hold. */
  settle: {
    command: {
      type: "settle";
      id: string;
      at: number;
      chargeNanoUsd: NanoUsd;
      lossNanoUsd: NanoUsd;
      detail: string;
      tally?: Tally;
    };
    reply: ResolveReply;
  };
  /** Owner: the request is over and cost nothing. Without a detail it leaves no receipt: it was never forwarded. */
  release: {
    command: { type: "release"; id: string; at: number; lossNanoUsd: NanoUsd; detail: string | null; tally?: Tally };
    reply: ResolveReply;
  };
  /** Owner: nobody is working on this hold any more. Only the sweeper ends it now. */
  orphan: {
    command: { type: "orphan"; id: string; at: number /** How long the sweeper has. */; graceMs: number };
    reply: { status: "orphaned" | "already_resolved" | "unknown" };
  };
  /** Owner, asked by a follower: how did this hold end? An unknown id is made to stay unknown. */
  inquire: {
    command: { type: "inquire"; id: string; at: number };
    reply: { state: HoldState; chargeNanoUsd: NanoUsd };
  };
  /**
   * Follower: the owner has resolved it. A charge of null is a release, and of an id that is unknown here makes it stay
   * unknown. Older versions do not say when it began.
   */
  follow: {
    command: { type: "follow"; id: string; chargeNanoUsd: NanoUsd | null; admittedAt?: number };
    reply: ResolveReply;
  };
  /** Journal: one settled prepaid request. */
  journal: {
    command: {
      type: "journal";
      id: string;
      account: string;
      chargeNanoUsd: NanoUsd;
      admittedAt: number;
      server: string;
    };
    reply: { status: "journalled" | "conflict" };
  };
  setCeiling: {
    command: {
      type: "setCeiling";
      limitNanoUsd: NanoUsd;
      /** The block in which it was seen lowered: the cursor of this partition from now on. */
      lowered?: { block: number; blockHash: string };
    };
    reply: { status: "set" };
  };
  /** Identity: the capacity the chain gave it for a day. */
  setCapacity: {
    command: { type: "setCapacity"; at: number; limitNanoUsd: NanoUsd };
    reply: { status: "set" };
  };
  /** Account: dollars an activation brought, once for each activation. `too_much` is to be delivered again. */
  credit: {
    command: { type: "credit"; id: string; at: number; amountNanoUsd: NanoUsd; detail: string };
    reply: { status: "credited" | "conflict" | "too_much" };
  };
  createKey: {
    command: {
      type: "createKey";
      at: number;
      keyId: string;
      digest: string;
      label: string;
      name: string;
      window: Window;
      limitNanoUsd: NanoUsd | null;
      expiresAt: number | null;
      /** Of the signed message, consumed with the key's creation. */
      nonce: string;
      nonceExpiresAt: number;
    };
    reply: { status: "created" | "nonce_used" | "too_many_keys" };
  };
  /** Account: rename, disable, or lower a key's limit; never raises one. */
  updateKey: {
    command: {
      type: "updateKey";
      keyId: string;
      name?: string;
      disabled?: boolean;
      limitNanoUsd?: NanoUsd;
    };
    reply: { status: "updated" | "unknown" | "would_raise" };
  };
  /** Account: another secret for a key, in place of the one it has; everything else of it stays. */
  rollKey: {
    command: {
      type: "rollKey";
      at: number;
      keyId: string;
      digest: string;
      label: string;
      /** Of the signed message, consumed with the roll. */
      nonce: string;
      nonceExpiresAt: number;
    };
    reply: { status: "rolled" | "unknown" | "nonce_used" };
  };
  /**
   * Account: other terms for a key, as its wallet signed them: its limit, which may be higher, the limit's window and
   * the expiry. What the key spent and holds counts in the new window as in the old one.
   */
  setKeyTerms: {
    command: {
      type: "setKeyTerms";
      /** Of this change: the same message under another id is used up. */
      id: string;
      at: number;
      keyId: string;
      window: Window;
      limitNanoUsd: NanoUsd | null;
      /** Undefined: it stays as it is. */
      expiresAt?: number | null;
      /** Of the signed message, consumed with the change. */
      nonce: string;
      nonceExpiresAt: number;
    };
    reply: { status: "set" | "unknown" | "expired" | "nonce_used" };
  };
  revokeKey: {
    command: { type: "revokeKey"; at: number; keyId: string };
    reply: { status: "revoked" | "unknown" };
  };
  /**
   * Account: a sign-in message's nonce, once: for one session, whose digest makes it safe to repeat. During a rollout
   * an older version sends none.
   */
  consumeNonce: {
    command: { type: "consumeNonce"; at: number; nonce: string; expiresAt: number; digest?: string };
    reply: { status: "consumed" | "nonce_used" };
  };
  openSession: {
    command: {
      type: "openSession";
      at: number;
      digest: string;
      address: string;
      agentToken: string | null;
      expiresAt: number;
    };
    reply: { status: "opened" };
  };
  revokeSession: {
    command: { type: "revokeSession"; at: number; digest: string };
    reply: { status: "revoked" | "unknown" };
  };
  /** Chain: everything activated up to a block, and the cursor with it. */
  advance: {
    command: {
      type: "advance";
      at: number;
      chainId: number;
      block: number;
      blockHash: string;
      activations: readonly Activation[];
    };
    reply: { status: "advanced" } | { status: "gap"; expected: string; got: string };
  };
  /** Any: rows whose time is over. Checked again here; what is not over stays. */
  forget: {
    command: {
      type: "forget";
      at: number;
      table: "hold" | "nonce" | "session" | "claim" | "receipt" | "key";
      ids: readonly string[];
      /** How long a receipt is kept; at least as long as the outcome of its request, and that long without it. */
      keepMs?: number;
    };
    reply: { forgotten: number };
  };
  /** Any: a delivery was acknowledged. */
  acknowledge: {
    command: { type: "acknowledge"; id: string };
    reply: { status: "acknowledged" };
  };
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

export type CommandType = keyof Commands;
export type Command = Commands[CommandType]["command"];
export type Reply = Commands[CommandType]["reply"];
export type ReplyOf<C extends Command> = Commands[C["type"]]["reply"];
