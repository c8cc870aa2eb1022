import type { KeyLimit, LimitUnit } from "@inference/protocol/key-limit";
import type { NanoUsd } from "@inference/protocol/money";
import type { DollarWindow } from "@inference/protocol/window";
import type { OfferRow, ReconciliationRow, TransactionRow } from "../rows/tables.ts";
import type {
  AccountEvent,
  Activation,
  Allow,
  AllowAnswer,
  AllowReply,
  Ask,
  Claim,
  Hearing,
  KeyTerms,
  NoticeTry,
  OfferName,
  PayerCredential,
  PostingTerms,
  ReserveReply,
  ResolveReply,
  SettledChunk,
  Statement,
  Tally,
  Unheard,
  UsedModel,
  Webhook,
} from "./command-parts.ts";
import type { Partition } from "./partition.ts";

export type * from "./command-parts.ts";

/** The end of a hold. */
type HoldEnd = {
  id: string;
  at: number;
  lossNanoUsd: NanoUsd;
  tally?: Tally;
  /** The tokens that it used; absent: of a settle those that it held, of a release none. */
  tokens?: number;
};

/** A key of a signed message, whose nonce is used with the command. */
type SignedKey = { at: number; keyId: string; nonce: string; nonceExpiresAt: number };
type KeySecret = { digest: string; label: string };

/**
 * All commands, with their replies. A command has an id from its caller (of the request, the activation, or the
 * message's nonce), so that it is safe to repeat: the same id with the same content has the same reply, but for what is
 * left, and changes nothing. The same id with other content is a conflict.
 */
export type Commands = {
  /**
   * Payer: hold the maximum cost of a request in every budget of its payer, and in the shared limits that bind it. A
   * limit that has not allowed enough is asked first: `asks`.
   */
  reserve: {
    command: {
      type: "reserve";
      id: string;
      at: number;
      amountNanoUsd: NanoUsd;
      leaseMs: number;
      payer: PayerCredential;
      /** The agent that serves the request. */
      server?: OfferName | undefined;
      /** JSON: what the sweeper needs to settle the hold if this process dies. */
      detail: string;
      /** The most tokens that it can use; absent: 0. */
      tokens?: number;
      /** All that may serve it. A key with terms of models does not allow a request without them. */
      models?: readonly UsedModel[];
      claim?: Claim | undefined;
      /** Whether the ceiling is taken in pieces. Without it, it is raised and lowered with each request. */
      inPieces?: true | undefined;
      /** The shared limits' replies to this request's asks. */
      answers?: readonly AllowAnswer[];
    };
    reply: ReserveReply;
  };
  /** Payer: the agent failed, and the protocol serves the request. It is not forwarded again before this is durable. */
  reassign: {
    command: { type: "reassign"; id: string };
    reply: { status: "reassigned" | "already_resolved" | "unknown" };
  };
  /** Payer: record what was delivered so far, and a new detail if the hold's has become wrong. */
  checkpoint: {
    command: {
      type: "checkpoint";
      id: string;
      deliveredNanoUsd: NanoUsd;
      upstreamId: string | null;
      detail?: string;
    };
    reply: { status: "written" | "already_resolved" | "unknown" };
  };
  /** Payer: end a hold with a charge of at most its amount. */
  settle: {
    command: {
      type: "settle";
      chargeNanoUsd: NanoUsd;
      detail: string;
      /** The id of the price snapshot. */
      snapshot: string;
    } & HoldEnd;
    reply: ResolveReply;
  };
  /**
   * Payer: end a hold without a charge. Without a detail it leaves no receipt to see, because nothing was forwarded; a
   * reserve of its id that arrives later is refused.
   */
  release: {
    command: { type: "release"; detail: string | null } & HoldEnd;
    reply: ResolveReply;
  };
  /** Payer: no process works on this hold any more. Only the sweeper ends it now. */
  orphan: {
    command: { type: "orphan"; id: string; at: number /** How long the sweeper has. */; graceMs: number };
    reply: { status: "orphaned" | "already_resolved" | "unknown" };
  };
  /** Ceiling, or an agent's identity. Replies with the row after it, also to an ask that is not newer than the last. */
  allow: { command: Allow; reply: AllowReply };
  /**
   * Account: lower what it may use of shared limits to what it used and holds. It is delivered; the reply has the asks
   * for a caller that has to know when they have arrived.
   */
  lower: {
    command: { type: "lower"; at: number /** Null: all that are due. */; limit: Partition | null };
    reply: { asks: readonly Ask[] };
  };
  /** Ceiling, or identity: delete what it allowed, at most `limit` rows. It gives nothing until `fill`. */
  empty: {
    command: { type: "empty"; at: number; limit: number };
    reply: { status: "emptied" | "more" };
  };
  /** Ceiling, or identity: every account has told again what it used and holds. */
  fill: { command: { type: "fill" }; reply: { status: "filled" } };
  /** Ceiling: what earlier days' statements take of a day. Fixed once for a day. */
  setCarry: {
    command: { type: "setCarry" /** The UTC day. */; day: string; amountNanoUsd: NanoUsd };
    reply: { status: "set" | "conflict" };
  };
  setCeiling: {
    command: {
      type: "setCeiling";
      limitNanoUsd: NanoUsd;
      /** The block in which the ceiling was lowered, which becomes the cursor of this partition. */
      lowered?: { block: number; blockHash: string };
    };
    reply: { status: "set" };
  };
  /**
   * Account: the chain's totals.
   *
   * @param epoch Of the account's `unheard` that asked for them; null if it did not ask.
   */
  hear: {
    command: { type: "hear"; at: number; epoch: number | null } & Hearing;
    /** `late`: the question is of another epoch. */
    reply: { status: "heard" | "late" };
  };
  /** Account: make a statement of the uses, if it is due and none is open. */
  seal: {
    command: { type: "seal"; at: number } & PostingTerms;
    /** Both totals of the open statement. */
    reply: { status: "open"; beforeNanoUsd: NanoUsd; afterNanoUsd: NanoUsd } | { status: "not_due" } | Unheard;
  };
  /** Account: the root of the open statement's uses, and the parts of agents (JSON). */
  nameRoot: {
    command: { type: "nameRoot"; beforeNanoUsd: NanoUsd; afterNanoUsd: NanoUsd; root: string; parts: string };
    reply: { status: "named" | "conflict" };
  };
  /** Chain: the totals of an account, for `hear`. `not_ready`: the chain is not read far enough. */
  inquire: {
    command: { type: "inquire"; account: string };
    reply: { status: "answered"; hearing: Hearing } | { status: "not_ready" };
  };
  /** Chain: the open statement of an account. The larger one counts. `final`: the account is debited that far. */
  tell: {
    command: { type: "tell"; at: number; account: string } & Statement;
    reply: { status: "told" | "final" };
  };
  /** Chain: a transaction was signed. It may be sent once this is durable. It replaces an earlier one of its nonce. */
  signChunk: {
    command: { type: "signChunk"; nonce: number } & Omit<TransactionRow, "id">;
    reply: { status: "signed" };
  };
  /** Chain: a transaction's nonce is used by a final block, or the transaction will not be sent. */
  dropTransaction: {
    command: { type: "dropTransaction"; nonce: number };
    reply: { status: "dropped" };
  };
  /** Chain: everything activated and debited up to a final block, and the cursor with it. Delivers to the accounts. */
  advance: {
    command: {
      type: "advance";
      at: number;
      block: number;
      blockHash: string;
      activations: readonly Activation[];
      chunks: readonly SettledChunk[];
    };
    reply: { status: "advanced" } | { status: "gap"; expected: string; got: string };
  };
  /** Chain: activations that count before they are final. */
  creditEarly: {
    command: { type: "creditEarly"; at: number; activations: readonly Activation[] };
    reply: { status: "credited" | "unread" };
  };
  /**
   * Chain: read the chain again from its first block: before the first `advance`, and after a restore. The cursor and
   * what accounts told are emptied.
   *
   * @param readyFrom The first block from which accounts get answers: final at the restore, or later.
   */
  reread: { command: { type: "reread"; at: number; readyFrom: number }; reply: { status: "emptied" } };
  /**
   * Chain: answer accounts from this block only, after a start with rows that may be a copy. Null: it is not known yet.
   */
  waitFor: { command: { type: "waitFor"; readyFrom: number | null }; reply: { status: "waiting" | "unread" } };
  /** Chain: a day's reconciliation. A closed one stays unchanged. `early`: the day is not over. */
  reconcile: {
    command: { type: "reconcile" } & ReconciliationRow;
    reply: { status: "kept" | "closed" | "early" };
  };
  /** Chain: the provider's charges for a closed day. They are written once. */
  noteBill: {
    command: { type: "noteBill"; day: string; providerNanoUsd: NanoUsd };
    reply: { status: "noted" | "known" | "open" };
  };
  /**
   * Account or identity: its rows are an older copy, so its holds are released. A hold may have ended after the copy,
   * and a debit for it that is not final is known to no party.
   */
  releaseHolds: { command: { type: "releaseHolds"; at: number }; reply: { status: "released" } };
  /** Identity: the capacity the chain gave it for a day. */
  setCapacity: {
    command: { type: "setCapacity"; at: number; limitNanoUsd: NanoUsd };
    reply: { status: "set" };
  };
  /** Identity: what the agent's computer has signed replaces what it signed before. A share of 0 withdraws that. */
  setOffer: {
    command: { type: "setOffer"; at: number } & Omit<OfferRow, "id" | "since" | "endedAt">;
    /**
     * `nonce_used`: an offer with this nonce or a higher one was set, and is not this one or has ended.
     * `nonce_too_high`: it is more than `MAX_NONCE_STEP` above the last one.
     */
    reply: { status: "set" | "nonce_used" | "nonce_too_high" | "wrong_day" };
  };
  /** Identity: the computer was replaced, or the agent sold. The offer of this hash is over. */
  endOffer: {
    command: { type: "endOffer"; at: number; hash: string };
    reply: { status: "ended" | "unknown" };
  };
  createKey: {
    command: {
      type: "createKey";
      name: string;
      window: DollarWindow;
      limitNanoUsd: NanoUsd | null;
      expiresAt: number | null;
    } & SignedKey &
      KeySecret &
      Partial<KeyTerms>;
    reply: { status: "created" | "nonce_used" | "too_many_keys" };
  };
  /** Account: rename or disable a key, or tighten its terms. It never raises a limit or allows another model. */
  updateKey: {
    command: {
      type: "updateKey";
      keyId: string;
      name?: string;
      disabled?: boolean;
      /** The new amount of the key's first limit in dollars. A key without one gets a limit over its lifetime. */
      limitNanoUsd?: NanoUsd;
      /** Limits to lower or to add. */
      limits?: readonly KeyLimit[];
      models?: readonly string[];
      isPrivate?: true;
    };
    reply: { status: "updated" | "unknown" | "would_raise" };
  };
  /** Account: replace a key's secret. Everything else stays. */
  rollKey: {
    command: { type: "rollKey" } & SignedKey & KeySecret;
    reply: { status: "rolled" | "unknown" | "nonce_used" };
  };
  /**
   * Account: set a key's terms as its wallet signed them. Its limits may be higher. Its charges and holds count in new
   * windows; requests and tokens count from the setting of their first limit. Undefined terms stay.
   */
  setKeyTerms: {
    command: {
      type: "setKeyTerms";
      /** The id of this change. The same message with another id has a used nonce. */
      id: string;
      /** With `limitNanoUsd`, the first of all its limits in dollars. The others are among `limits`. */
      window?: DollarWindow;
      limitNanoUsd?: NanoUsd | null;
      /** The other units whose limits are replaced by those among `limits`. */
      units?: readonly LimitUnit[];
      expiresAt?: number | null;
    } & SignedKey &
      Partial<KeyTerms>;
    reply: { status: "set" | "unknown" | "expired" | "nonce_used" };
  };
  revokeKey: {
    command: { type: "revokeKey"; at: number; keyId: string };
    reply: { status: "revoked" | "unknown" };
  };
  /**
   * Account: add a webhook. Repeated with its id, it changes nothing. `unpaid`: the account never had a credit, and
   * stores nothing for ever.
   */
  setWebhook: {
    command: { type: "setWebhook"; at: number } & Omit<Webhook, "createdAt">;
    reply: { status: "set" | "too_many" | "unpaid" };
  };
  /** Account: remove a webhook with its notices. */
  removeWebhook: {
    command: { type: "removeWebhook"; id: string };
    reply: { status: "removed" | "unknown" };
  };
  /** Account: an event that another partition knows. `fact` names it, so that it is noticed once. */
  notice: {
    command: { type: "notice"; fact: string; event: AccountEvent };
    reply: { status: "noticed" };
  };
  /** Account: tries that were made. Forgets notices that are over for long. */
  noteTries: {
    command: { type: "noteTries"; at: number; tries: readonly NoticeTry[] };
    reply: { status: "noted" };
  };
  /**
   * Account: use a sign-in message's nonce, once, for one session. The session's digest makes the command safe to
   * repeat.
   */
  consumeNonce: {
    command: { type: "consumeNonce"; at: number; nonce: string; expiresAt: number; digest: string };
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
  /** Any: delete rows whose retention has ended. It is checked here again, and other rows stay. */
  forget: {
    command: {
      type: "forget";
      at: number;
      table: "nonce" | "session" | "claim" | "receipt" | "key" | "record";
      ids: readonly string[];
      /** How long receipts, uses and records are kept: at least as long as the outcome of a request, the default. */
      keepMs?: number;
    };
    reply: { forgotten: number };
  };
  /** Any: delete a delivery that was acknowledged. */
  acknowledge: {
    command: { type: "acknowledge"; id: string };
    reply: { status: "acknowledged" };
  };
};

export type CommandType = keyof Commands;
export type Command = Commands[CommandType]["command"];
export type Reply = Commands[CommandType]["reply"];
export type ReplyOf<C extends Command> = Commands[C["type"]]["reply"];
