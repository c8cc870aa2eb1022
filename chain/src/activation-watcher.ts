import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { CursorRow } from "@inference/ledger/tables";
import { ChainUnavailable, type PendingActivation } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { createAlarm } from "./alarm.ts";
import { createCeilingWatcher } from "./ceiling-watcher.ts";
import { type ChainIdentity, createIdentityCheck } from "./chain-identity.ts";
import type { Block } from "./chain-view.ts";
import { createEventFollower } from "./event-follower.ts";
import type { Confirmations, Heads } from "./heads.ts";
import { createPending } from "./pending.ts";
import { contradictionOf, type Range, readRange } from "./range.ts";
import { type ChainClient, ChainContradiction, RpcError } from "./rpc.ts";
import { disagreementOf } from "./second-node.ts";
import { readActivations } from "./settlement-view.ts";

/**
 * Reads activations and settled batches from the chain into the ledger: each once, and not before it is final. If the
 * node contradicts the books, the watcher waits (the node is behind, or shows less than there is) or stops until it is
 * restarted (another chain, a reorg of final blocks, a gap). It never skips.
 */
export type ActivationWatcher = {
  /** One bounded step. Never throws. A call during a poll joins that poll. */
  poll(): Promise<PollResult>;
  status(): WatcherStatus;
  /** Activations that are not final yet. Read again with every poll, and for display only. */
  pendingActivations(account: Address): PendingActivation[];
  /** The same for all accounts. */
  allPending(): readonly Activation[];
};

export type PollResult =
  | { outcome: "advanced"; block: number; activations: number /** There is more to read at once. */; more: boolean }
  | { outcome: "idle" }
  | { outcome: "waiting"; reason: string }
  | { outcome: "halted"; reason: string };

export type WatcherStatus = {
  /** `starting` until all final blocks were read once. Until then balances may be too low. */
  state: "starting" | "following" | "halted";
  /** Why it is halted, or why the last poll failed. */
  reason?: string;
  /** The last block in the books. */
  block: number | null;
  /** The chain's latest block. */
  head: number | null;
  /** The number of final blocks that are not read yet. */
  lagBlocks: number | null;
  /** When a poll last succeeded. */
  lastPollAt: number | null;
};

export type ActivationWatcherOptions = ChainIdentity & {
  client: ChainClient;
  /** The first block that is read: none of the contract's events is older. */
  startBlock: number;
  confirmations: Confirmations;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
  /** A second, independent node. Nothing is credited unless both nodes agree. */
  secondNode?: ChainClient | undefined;
  /** Maximum blocks of one poll. */
  maxBlocks?: number;
  /** The age of the latest block from which the chain counts as stalled; absent for a chain without regular blocks. */
  stalledAfterMs?: number | undefined;
};

/** How long a node may fail before the operator is alerted. */
const PATIENCE_MS = 120_000;

export function createActivationWatcher(options: ActivationWatcherOptions): ActivationWatcher {
  const {
    client,
    secondNode,
    chainId,
    settlement,
    startBlock,
    confirmations,
    ledger,
    now,
    maxBlocks = 2_000,
  } = options;
  const partition = chainPartition(chainId);
  const identity = createIdentityCheck(options);
  const alarm = createAlarm(options);
  const ceiling = createCeilingWatcher(options);
  const follower = createEventFollower({
    ...{ client, startBlock, confirmations, maxBlocks, now },
    read: (from, end) => readRange(client, settlement, from, end),
  });
  const pending = createPending();
  const status: WatcherStatus = { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null };
  let polling: Promise<PollResult> | undefined;
  let waitingSince: number | undefined;

  function halt(reason: string): PollResult {
    status.state = "halted";
    status.reason = reason;
    pending.replace([]);
    options.onAlert(`chain ${chainId}: stopped: ${reason}`);
    return { outcome: "halted", reason };
  }

  function wait(reason: string, isContradiction = false): PollResult {
    waitingSince ??= now();
    status.reason = reason;
    if (isContradiction) alarm("contradiction", `chain ${chainId}: not believed: ${reason}`);
    else if (now() - waitingSince >= PATIENCE_MS) alarm("waiting", `chain ${chainId}: waiting: ${reason}`);
    return { outcome: "waiting", reason };
  }

  function gotThrough<R extends PollResult>(block: number, final: Block, result: R): R {
    waitingSince = undefined;
    status.block = block;
    status.lagBlocks = Math.max(0, final.number - block);
    status.lastPollAt = now();
    if (status.lagBlocks === 0) status.state = "following";
    delete status.reason;
    return result;
  }

  async function step(): Promise<PollResult> {
    const wrongChain = await identity();
    if (wrongChain !== undefined) return halt(wrongChain);
    const cursor = await readCursor();
    const heads = await follower.heads();
    status.head = heads.latest.number;
    warnIfStalled(heads.latest);
    const obstacle = await follower.obstacle(cursor, heads);
    if (obstacle?.outcome === "halted") return halt(obstacle.reason);
    if (obstacle?.outcome === "waiting") return wait(obstacle.reason);
    await ceiling.poll(heads);

    const range = await follower.next(cursor, heads);
    const result =
      range === undefined
        ? gotThrough(cursor?.block ?? startBlock - 1, heads.final, { outcome: "idle" as const })
        : await advance(cursor, range, heads.final);
    if (status.state === "following" && result.outcome !== "halted") await lookAhead(heads);
    return result;
  }

  function warnIfStalled({ number, at }: Block): void {
    if (options.stalledAfterMs === undefined || now() - at < options.stalledAfterMs) return;
    alarm("stalled", `chain ${chainId}: no block since ${number}, ${Math.round((now() - at) / 1_000)} s ago`);
  }

  /** Null also for one of an older version, which did not read batches. */
  async function readCursor(): Promise<CursorRow | null> {
    const cursor = await ledger.read(partition, { type: "cursor" });
    return cursor?.lastBatchId === null ? null : cursor;
  }

  async function advance(cursor: CursorRow | null, range: Range, final: Block): Promise<PollResult> {
    if (range.totals === null && range.end.number === final.number) {
      return wait(`there is no settlement contract at ${settlement} in block ${final.number}`);
    }
    const contradiction =
      contradictionOf(cursor, range) ??
      (secondNode === undefined ? undefined : await disagreementOf(secondNode, settlement, confirmations, range));
    if (contradiction !== undefined) {
      follower.narrow();
      return wait(contradiction, true);
    }
    const { number, hash } = range.end;
    const reply = await ledger.run(() =>
      send(partition, {
        type: "advance",
        at: now(),
        chainId,
        block: number,
        blockHash: hash,
        activations: range.activations,
        batches: range.batches,
        credits: range.credits,
      }),
    );
    if (reply.status === "gap") return gap(cursor, `expected ${reply.expected}, got ${reply.got}`);
    follower.widen();
    pending.dropUpTo(number);
    const more = number < final.number;
    return gotThrough(number, final, {
      outcome: "advanced",
      block: number,
      activations: range.activations.length,
      more,
    });
  }

  async function gap(before: CursorRow | null, reason: string): Promise<PollResult> {
    const cursor = await readCursor();
    if (cursor?.block !== before?.block) return wait("somebody else has read these blocks");
    return halt(`what the chain tells does not follow what it told before: ${reason}`);
  }

  async function lookAhead({ latest, final }: Heads): Promise<void> {
    const from = Math.max(final.number + 1, latest.number - maxBlocks + 1);
    try {
      pending.replace(
        from > latest.number ? [] : await readActivations(client, { settlement, from, to: latest.number }),
      );
    } catch (error) {
      // The displayed activations stay as they were. Only credits must be right.
      if (!(error instanceof RpcError) && !isUnavailable(error)) throw error;
    }
  }

  async function poll(): Promise<PollResult> {
    if (status.state === "halted") return { outcome: "halted", reason: status.reason ?? "" };
    try {
      return await step();
    } catch (error) {
      if (isUnavailable(error)) return wait(error.message, error instanceof ChainContradiction);
      return halt(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
  }

  return {
    poll() {
      polling ??= poll().finally(() => {
        polling = undefined;
      });
      return polling;
    },
    status: () => ({ ...status }),
    pendingActivations: (account) => pending.of(account),
    allPending: () => pending.all(),
  };
}

function isUnavailable(error: unknown): error is Error {
  return error instanceof ChainUnavailable || error instanceof LedgerUnavailable;
}
