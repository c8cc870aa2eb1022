import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { CursorRow } from "@inference/ledger/tables";
import { ChainUnavailable, type PendingActivation } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { joined } from "@inference/protocol/joined";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { createAlarm } from "./alarm.ts";
import { createCeilingWatcher } from "./ceiling-watcher.ts";
import { type ChainIdentity, createIdentityCheck } from "./chain-identity.ts";
import type { Block } from "./chain-view.ts";
import { createEarlyCredit } from "./early-credit.ts";
import { createEventFollower } from "./event-follower.ts";
import type { Confirmations, Heads } from "./heads.ts";
import { createPending } from "./pending.ts";
import { contradictionOf, type Range, readRange } from "./range.ts";
import { type ChainClient, ChainContradiction, RpcError } from "./rpc.ts";
import { disagreementOf } from "./second-node.ts";
import { readActivations } from "./settlement-events.ts";

/**
 * Reads activations and chunks of debits from final blocks into the ledger, each once, and copies the ceiling. If the
 * node contradicts the ledger, the watcher waits (the node is behind, or shows less than there is) or stops until it is
 * restarted (another chain, a reorg of final blocks, a gap). It never skips.
 */
export type SettlementWatcher = {
  /** One bounded step. Never throws. A call during a poll joins that poll. */
  poll(): Promise<PollResult>;
  status(): WatcherStatus;
  /** Reads the chain again from its first block, with the next poll: the ledger's part of the chain was restored. */
  reread(): void;
  /** Activations that are not credited yet. Read again with every poll, and for display only. */
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
  /** The last block in the ledger. */
  block: number | null;
  /** The chain's latest block. */
  head: number | null;
  /** The number of final blocks that are not read yet. */
  lagBlocks: number | null;
  /** When a poll last succeeded. */
  lastPollAt: number | null;
};

export type SettlementWatcherOptions = ChainIdentity & {
  client: ChainClient;
  /** The first block that is read: none of the contract's events is older. */
  startBlock: number;
  /** From when activations count. Debits always count from the final block. */
  confirmations: Confirmations;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
  /** A second, independent node. Nothing is read unless both nodes agree. */
  secondNode?: ChainClient | undefined;
  /** Maximum blocks of one poll. */
  maxBlocks?: number;
  /** The age of the latest block from which the chain counts as stalled; absent for a chain without regular blocks. */
  stalledAfterMs?: number | undefined;
  /** Whether the ledger may have been put back before the start. Accounts then wait until the final block is read. */
  mayBeCopy?: boolean;
  /** Hashes the records of chunks. Absent: the pure function. */
  keccak?: Keccak | undefined;
};

/** How long a node may fail before the operator is alerted. */
const PATIENCE_MS = 120_000;

export function createSettlementWatcher(options: SettlementWatcherOptions): SettlementWatcher {
  const { client, secondNode, chainId, settlement, startBlock, ledger, now, maxBlocks = 2_000, keccak } = options;
  const partition = chainPartition(chainId);
  const identity = createIdentityCheck(options);
  const alarm = createAlarm(options);
  const ceiling = createCeilingWatcher(options);
  const follower = createEventFollower({
    ...{ client, startBlock, confirmations: "finalized" as const, maxBlocks, now },
    read: (from, end) => readRange(client, { settlement, from, end, keccak }),
  });
  const pending = createPending();
  const early = createEarlyCredit(options);
  const status: WatcherStatus = { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null };
  let waitingSince: number | undefined;
  let isToReread = false;
  let { mayBeCopy = false } = options;

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
    const heads = await follower.heads();
    status.head = heads.latest.number;
    warnIfStalled(heads.latest);
    const cursor = await openCursor(heads);
    const place = cursor.blockHash === "" ? null : cursor;
    const obstacle = await follower.obstacle(place, heads);
    if (obstacle?.outcome === "halted") return halt(obstacle.reason);
    if (obstacle?.outcome === "waiting") return wait(obstacle.reason);
    await ceiling.poll(heads);

    const range = await follower.next(place, heads);
    const result =
      range === undefined
        ? gotThrough(place?.block ?? startBlock - 1, heads.final, { outcome: "idle" as const })
        : await advance(cursor, range, heads);
    if (status.lagBlocks === 0 && result.outcome !== "halted") await lookAhead(heads);
    return result;
  }

  /**
   * Accounts are answered once the chain is read up to a block that becomes final after a restore; at a first start,
   * and at one with rows that may be a copy, up to the block that is final now.
   */
  async function openCursor({ latest, final }: Heads): Promise<CursorRow> {
    const known = await ledger.read(partition, { type: "cursor" });
    if (known === null || isToReread) {
      const readyFrom = isToReread ? latest.number + 1 : final.number;
      await ledger.run(() => send(partition, { type: "reread", at: now(), readyFrom }));
    } else if (mayBeCopy) {
      await ledger.run(() => send(partition, { type: "waitFor", readyFrom: final.number }));
    }
    isToReread = false;
    mayBeCopy = false;
    const cursor = await ledger.read(partition, { type: "cursor" });
    if (cursor === null) throw new LedgerUnavailable("the chain's partition has no cursor");
    return cursor;
  }

  function warnIfStalled({ number, at }: Block): void {
    if (options.stalledAfterMs === undefined || now() - at < options.stalledAfterMs) return;
    alarm("stalled", `chain ${chainId}: no block since ${number}, ${Math.round((now() - at) / 1_000)} s ago`);
  }

  async function advance(cursor: CursorRow, range: Range, heads: Heads): Promise<PollResult> {
    const { number, hash } = range.end;
    if (range.totals === null && number === heads.final.number) {
      return wait(`there is no settlement contract at ${settlement} in block ${number}`);
    }
    const contradiction = contradictionOf(cursor, range) ?? (await disagreement(range));
    if (contradiction !== undefined) {
      follower.narrow();
      return wait(contradiction, true);
    }
    const { activations, chunks } = range;
    const reply = await ledger.run(() =>
      send(partition, { type: "advance", at: now(), block: number, blockHash: hash, activations, chunks }),
    );
    if (reply.status === "gap") return gap(cursor, `expected ${reply.expected}, got ${reply.got}`);
    follower.widen();
    pending.dropUpTo(number);
    const more = number < heads.final.number;
    const outcome = "advanced" as const;
    return gotThrough(number, heads.final, { outcome, block: number, activations: activations.length, more });
  }

  async function disagreement(range: Range): Promise<string | undefined> {
    if (secondNode === undefined) return undefined;
    const { from, end } = range;
    return disagreementOf(secondNode, { settlement, from, end, keccak, confirmations: "finalized" }, range);
  }

  async function gap(before: CursorRow, reason: string): Promise<PollResult> {
    const cursor = await ledger.read(partition, { type: "cursor" });
    if (cursor?.block !== before.block) return wait("another process has read these blocks");
    return halt(`the events do not follow those read before: ${reason}`);
  }

  async function lookAhead({ latest, final }: Heads): Promise<void> {
    const from = Math.max(final.number + 1, latest.number - maxBlocks + 1);
    try {
      const seen = from > latest.number ? [] : await readActivations(client, { settlement, from, to: latest.number });
      const creditedTo = await early.poll({ latest, final }, seen);
      pending.replace(seen.filter(({ block }) => block > creditedTo));
    } catch (error) {
      // The displayed activations stay as they were. Only credits must be right.
      if (!(error instanceof RpcError) && !isUnavailable(error)) throw error;
      if (error instanceof ChainContradiction) wait(error.message, true);
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
    poll: joined(poll),
    status: () => ({ ...status }),
    reread() {
      isToReread = true;
    },
    pendingActivations: (account) => pending.of(account),
    allPending: () => pending.all(),
  };
}

function isUnavailable(error: unknown): error is Error {
  return error instanceof ChainUnavailable || error instanceof LedgerUnavailable;
}
