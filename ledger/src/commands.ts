import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";
import type {
  Activation,
  BatchName,
  Claim,
  OfferName,
  Payer,
  ReserveReply,
  ResolveReply,
  Tally,
  UseRange,
} from "./command-parts.ts";
import type { AccountCredit, SettledBatch } from "./settled-batch.ts";
import type { HoldState, OfferRow, ReconciliationRow, TransactionRow, UseRow } from "./tables.ts";

export type * from "./command-parts.ts";

/**
 * All commands, with their replies. A command has an id from its caller (of the request, the activation, or the
 * message's nonce), so that it is safe to repeat: the same id with the same content has the same reply and changes
 * nothing. With other content it is a conflict.
 */
export type Commands = {
  /** Owner: hold the maximum cost of a request in every budget of its payer. */
  reserve: {
    command: {
      type: "reserve";
      id: string;
      at: number;
      amountNanoUsd: NanoUsd;
      leaseMs: number;
      payer: Payer;
      followers: readonly string[];
      /** The agent that serves the request, which is one of the followers. */
      server?: OfferName | undefined;
      detail: string;
      claim?: Claim | undefined;
      /** Whether the account may have a block of the ceiling. Older versions do not send it. */
      blocks?: true | undefined;
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
      /** The block that the owner wants: up to this may be held, but nothing between its amount and the least. */
      wantedNanoUsd?: NanoUsd;
      leastNanoUsd?: NanoUsd;
      leaseMs: number;
      /** The account, or the shard of the ceiling that holds it for an account. */
      owner: string;
      /** From a shard: what it holds of the account besides. */
      ownNanoUsd?: NanoUsd;
    };
    reply: ReserveReply;
  };
  /** Account, or shard: the ceiling, of this day's limit, holds this much of a request. It is the owner's block now. */
  openBlock: {
    command: { type: "openBlock"; id: string; amountNanoUsd: NanoUsd; limitNanoUsd?: NanoUsd };
    /** `unopened`: it ends with its request. */
    reply: { status: "opened" | "unopened" };
  };
  /** Account, or shard: nothing more is admitted from this block; with `lowered`, nor from those that a shard holds. */
  closeBlock: {
    command: { type: "closeBlock"; id: string; lowered?: true };
    reply: { status: "closed" | "unknown" };
  };
  /** Identity: hold the same under the agent's offer. A refusal is not stored. */
  reserveOffer: {
    command: {
      type: "reserveOffer";
      id: string;
      at: number;
      amountNanoUsd: NanoUsd;
      leaseMs: number;
      owner: string;
      /** The offer's hash. An agent that has replaced or withdrawn it refuses. */
      offer: string;
    };
    reply: ReserveReply;
  };
  /** Owner: the agent failed, and the protocol serves the request. It is not forwarded again before this is durable. */
  reassign: {
    command: { type: "reassign"; id: string };
    reply: { status: "reassigned" | "already_resolved" | "unknown" };
  };
  /** Owner: record what was delivered so far. */
  checkpoint: {
    command: { type: "checkpoint"; id: string; deliveredNanoUsd: NanoUsd; upstreamId: string | null };
    reply: { status: "written" | "already_resolved" | "unknown" };
  };
  /** Owner: end a hold with a charge of at most its amount. */
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
  /** Owner: end a hold without a charge. Without a detail there is no receipt, because nothing was forwarded. */
  release: {
    command: { type: "release"; id: string; at: number; lossNanoUsd: NanoUsd; detail: string | null; tally?: Tally };
    reply: ResolveReply;
  };
  /** Owner: no process works on this hold any more. Only the sweeper ends it now. */
  orphan: {
    command: { type: "orphan"; id: string; at: number /** How long the sweeper has. */; graceMs: number };
    reply: { status: "orphaned" | "already_resolved" | "unknown" };
  };
  /**
   * Owner, asked by a follower: how did this hold end? An unknown id can never be reserved afterwards. To a partition
   * that is no follower of the hold, it is released. Older versions do not say who asks.
   */
  inquire: {
    command: { type: "inquire"; id: string; at: number; follower?: string };
    reply: { state: HoldState; chargeNanoUsd: NanoUsd };
  };
  /**
   * Follower: the owner has resolved its hold. A charge of null is a release. An id that is unknown here can never be
   * reserved afterwards. Older versions do not send the time of admission.
   */
  follow: {
    command: { type: "follow"; id: string; chargeNanoUsd: NanoUsd | null; admittedAt?: number };
    reply: ResolveReply;
  };
  /** Journal: one settled prepaid request, with the offer of the agent that served it. */
  journal: {
    command: {
      type: "journal";
      id: string;
      account: string;
      chargeNanoUsd: NanoUsd;
      admittedAt: number;
      server: string;
      offer?: string | null;
    };
    reply: { status: "journalled" | "conflict" };
  };
  /** A day's own journal: a shard's journal has uses of the day. */
  addShard: { command: { type: "addShard"; journal: string }; reply: { status: "added" } };
  /**
   * Journal: the uses that wait, the oldest first, go into a batch. The same batch is answered with the same uses until
   * they are returned. Reads at most `maxUses` waiting uses, and takes those of the first
   * `maxEntries` pairs of an account and a server, of which `maxServes` are with an agent.
   */
  gatherUses: {
    command: { type: "gatherUses"; maxUses: number; maxEntries: number; maxServes: number } & BatchName;
    /** `late`: this batch has returned its uses, or one that was opened later took some; which was opened then. */
    reply: { status: "gathered"; uses: readonly UseRow[] } | { status: "late"; openedAt: number };
  };
  /** Journal: a batch was rejected. Its uses wait again, but for those that the contract refuses. */
  returnUses: {
    command: { type: "returnUses"; setAside: { ids: readonly string[]; reason: string } | null } & BatchName;
    reply: { status: "returned" };
  };
  /**
   * Journal: uses that wait and were admitted up to a time are never posted, because lost books may have posted them.
   * At most `limit` of them; replies with their number.
   */
  setAsideUses: {
    command: { type: "setAsideUses"; until: number; limit: number };
    reply: { uses: number };
  };
  /** Chain: the next batch takes uses from a journal. There is one batch at a time. */
  openBatch: {
    command: { type: "openBatch"; journal: string } & BatchName;
    reply: { status: "open" | "conflict" };
  };
  /** Chain: what the uses of an open batch come to. */
  buildBatch: {
    command: {
      type: "buildBatch";
      root: string;
      uses: number;
      amountNanoUsd: NanoUsd;
      /** `entriesDigest` of what it debits. Older versions do not send it. */
      entries?: string;
    } & BatchName &
      UseRange;
    reply: { status: "built" | "conflict" };
  };
  /** Chain: a transaction was signed for a built batch. It may be sent once this is durable. */
  signBatch: {
    command: { type: "signBatch" } & BatchName & Omit<TransactionRow, "id">;
    reply: { status: "signed" | "conflict" };
  };
  /** Chain: one of its transactions is final. */
  settleBatch: {
    command: { type: "settleBatch"; at: number; settledBy: string; block: number } & BatchName;
    reply: { status: "settled" | "conflict" };
  };
  /** Chain: it is not to be settled, and none of its transactions can be any more. Its uses are to be returned. */
  rejectBatch: {
    /** @param transactions How many of its transactions are known to whom rejects it: of others it knows nothing. */
    command: { type: "rejectBatch"; transactions: number } & BatchName;
    reply: { status: "rejected" | "conflict" };
  };
  /** Chain: the uses of a rejected batch were returned. Its number is free again. */
  dropBatch: {
    command: { type: "dropBatch" } & BatchName;
    reply: { status: "dropped" | "conflict" };
  };
  /**
   * Chain: foreign batches count as settled from now on, so that the next batch follows them. At most 200 at once;
   * replies with the first that is left. `conflict`: a batch of ours has the number and is not dropped yet.
   */
  acceptBatches: {
    command: { type: "acceptBatches"; at: number };
    reply: { status: "accepted"; left: number | null } | { status: "conflict"; batch: number };
  };
  /** Chain: a day's reconciliation. One that is closed stays as it is. `early`: the day is not over. */
  reconcile: {
    command: { type: "reconcile" } & ReconciliationRow;
    reply: { status: "kept" | "closed" | "early" };
  };
  /** Ceiling: a batch of an earlier day's uses is paid from the day of `at`. Once for an id. */
  carry: {
    command: { type: "carry"; id: string; at: number; amountNanoUsd: NanoUsd };
    reply: { status: "carried" | "conflict" | "late" };
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
  /** Account: add the credit of an activation, once for each. After `too_much` it is delivered again. */
  credit: {
    command: { type: "credit"; id: string; at: number; amountNanoUsd: NanoUsd; detail: string };
    reply: { status: "credited" | "conflict" | "too_much" };
  };
  /**
   * Account: what a foreign batch debited on chain can no longer be spent here. Once for an id. Open holds stay good.
   * After `too_much` it is delivered again: its credit is still on the way.
   */
  debit: {
    command: { type: "debit"; id: string; at: number; amountNanoUsd: NanoUsd; detail: string };
    reply: { status: "debited" | "conflict" | "too_much" };
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
      /** Of the signed message. It is used with the creation of the key. */
      nonce: string;
      nonceExpiresAt: number;
    };
    reply: { status: "created" | "nonce_used" | "too_many_keys" };
  };
  /** Account: rename or disable a key, or lower its limit. It never raises a limit. */
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
  /** Account: replace a key's secret. Everything else stays. */
  rollKey: {
    command: {
      type: "rollKey";
      at: number;
      keyId: string;
      digest: string;
      label: string;
      /** Of the signed message. It is used with the roll. */
      nonce: string;
      nonceExpiresAt: number;
    };
    reply: { status: "rolled" | "unknown" | "nonce_used" };
  };
  /**
   * Account: set a key's terms as its wallet signed them: the limit, which may be higher, its window, and the expiry.
   * What the key spent and holds counts in the new window.
   */
  setKeyTerms: {
    command: {
      type: "setKeyTerms";
      /** The id of this change. The same message with another id has a used nonce. */
      id: string;
      at: number;
      keyId: string;
      window: Window;
      limitNanoUsd: NanoUsd | null;
      /** Undefined: the expiry stays. */
      expiresAt?: number | null;
      /** Of the signed message. It is used with the change. */
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
   * Account: use a sign-in message's nonce, once, for one session. The session's digest makes the command safe to
   * repeat. During a rollout an older version sends no digest.
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
  /** Chain: everything activated and debited up to a block, and the cursor with it. */
  advance: {
    command: {
      type: "advance";
      at: number;
      chainId: number;
      block: number;
      blockHash: string;
      activations: readonly Activation[];
      /** The batches of these blocks. Older versions do not send them. */
      batches?: readonly SettledBatch[];
      /** Of each account in these blocks, its credit after the last event. */
      credits?: readonly AccountCredit[];
    };
    reply: { status: "advanced" } | { status: "gap"; expected: string; got: string };
  };
  /** Any: delete rows whose retention has ended. It is checked here again, and other rows stay. */
  forget: {
    command: {
      type: "forget";
      at: number;
      table: "hold" | "nonce" | "session" | "claim" | "receipt" | "key";
      ids: readonly string[];
      /** How long a receipt is kept: at least as long as the outcome of its request, which is the default. */
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
