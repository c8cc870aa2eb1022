import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { windowStart } from "@inference/protocol/window";
import { counterId, counterOf, holdIn, resolveIn, shareOf } from "./budget.ts";
import type { CeilingTerms, Commands, ReplyOf } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved, tombstone, words } from "./hold-row.ts";
import { BLOCK_IDLE_MS, BLOCK_LEAST_REQUESTS, BLOCK_MS, BLOCK_SPENDING_MS } from "./limits.ts";
import { ceilingPartition, type Partition } from "./partition.ts";
import type { BlockRow, CounterRow, HoldRow, ReadRows, ReceiptRow, Rows } from "./tables.ts";

/**
 * Blocks: what an account has taken of the day's ceiling, and admits requests from without asking the ceiling again.
 *
 * A request without room in a block is held by the ceiling under its own id. The ceiling may hold more than it asked
 * for. `openBlock` then makes this hold the account's block of the day: it covers the request, what the block before
 * covered, and what is admitted next. Until that command the hold ends with its request, as any other.
 *
 * A block admits for a minute. When it is closed and covers nothing any more, it ends at the sum of its charges.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Admitted = { at: number; amountNanoUsd: NanoUsd };

/** Counts the requests that asked for a block and have none yet. Only one asks at a time. */
const ASKING = "asking@0";
/** What an account has at most: today's block, yesterday's, and on another clock already tomorrow's. */
const MOST_BLOCKS = 100;

/** Whether a block covers a new request, else what the account wants of the ceiling; and what counts it. */
export function underCeiling(
  rows: ReadRows,
  command: CommandOf<"reserve">,
  clockMs: number,
): { counters: CounterRow[]; terms: CeilingTerms } {
  if (command.blocks !== true || !command.followers.includes(ceilingPartition)) return NOTHING;
  const block = blockWithRoom(rows, command, clockMs);
  if (block !== undefined) return { counters: [block], terms: { isCovered: true } };
  const asking = counterOf(rows, ASKING);
  const wantedNanoUsd = wantedBlock(rows, command, clockMs);
  const asks = asking.openHolds === 0 && wantedNanoUsd > command.amountNanoUsd;
  return asks ? { counters: [asking], terms: { wantedNanoUsd } } : NOTHING;
}

const NOTHING = { counters: [], terms: {} };

/** Whether a block covers a request that was admitted before. */
export function coverOf({ followers }: HoldRow, named: readonly string[]): CeilingTerms {
  return named.includes(ceilingPartition) && !words(followers).includes(ceilingPartition) ? { isCovered: true } : {};
}

export function withoutCeiling(followers: readonly string[]): string[] {
  return followers.filter((follower) => follower !== ceilingPartition);
}

/** The counter of the block that has room for a request. */
function blockWithRoom(rows: Rows, { at, amountNanoUsd }: Admitted, clockMs: number): CounterRow | undefined {
  const block = rows.get("block", blockId(at));
  if (block === undefined || clockMs >= block.closesAt) return undefined;
  const counter = counterOf(rows, blockCounterId(at));
  return counter.settledNanoUsd + counter.heldNanoUsd + amountNanoUsd <= block.amountNanoUsd ? counter : undefined;
}

/** What is in flight, and as much as the account spends in 30 s. Nothing, if it makes few requests. */
function wantedBlock(rows: ReadRows, { at, amountNanoUsd }: Admitted, clockMs: number): NanoUsd {
  const { openHolds, heldNanoUsd } = counterOf(rows, "balance@0");
  const receipts = rows.newest("receipt", { before: "~", limit: RECENT_RECEIPTS });
  const recent = receipts.filter(({ resolvedAt }) => resolvedAt > clockMs - BLOCK_IDLE_MS);
  if (recent.length + openHolds + 1 < BLOCK_LEAST_REQUESTS) return 0;
  return Math.min(MAX_NANO_USD, heldNanoUsd + amountNanoUsd + spending(rows, at, recent, clockMs));
}

function spending(rows: Rows, at: number, recent: readonly ReceiptRow[], clockMs: number): NanoUsd {
  const block = rows.get("block", blockId(at));
  if (block === undefined) {
    const spent = recent.reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0);
    return shareOf(spent, BLOCK_SPENDING_MS, BLOCK_IDLE_MS);
  }
  const ageMs = Math.max(LEAST_AGE_MS, clockMs - block.drawnAt);
  return shareOf(counterOf(rows, blockCounterId(at)).settledNanoUsd, BLOCK_SPENDING_MS, ageMs);
}

const LEAST_AGE_MS = 1_000;
const RECENT_RECEIPTS = 8;

/**
 * Makes what the ceiling holds of a request the account's block. The block before it is moved into it and ends, so that
 * an account has one block of a day. Nothing changes if the request has ended, if it is too late, or if the new block
 * cannot cover what the old one covers.
 */
export function openBlock(
  draft: Draft,
  partition: Partition,
  { id, amountNanoUsd }: CommandOf<"openBlock">,
  clockMs: number,
): ReplyOf<CommandOf<"openBlock">> {
  const hold = draft.get("hold", id);
  if (hold === undefined) return { status: "unopened" };
  const { admittedAt } = hold;
  const before = draft.get("block", blockId(admittedAt));
  if (before?.drawnBy === id) return { status: "opened" };
  const followers = words(hold.followers);
  const closesAt = admittedAt + BLOCK_MS;
  const counter = counterOf(draft, blockCounterId(admittedAt));
  const heldNanoUsd = counter.heldNanoUsd + hold.amountNanoUsd;
  if (!isUnresolved(hold) || !followers.includes(ceilingPartition)) return { status: "unopened" };
  if (clockMs >= closesAt || heldNanoUsd > amountNanoUsd) return { status: "unopened" };

  // After this point it is opened.
  if (before !== undefined) endBlock(draft, partition, before);
  const counters = words(hold.counters);
  if (counters.includes(ASKING)) resolveIn(draft, [ASKING], hold.amountNanoUsd, 0);
  forgetAsking(draft);
  draft.put("hold", {
    ...hold,
    followers: withoutCeiling(followers).join(" "),
    counters: [...counters.filter((other) => other !== ASKING), counter.id].join(" "),
  });
  holdIn(draft, { ...counter, settledNanoUsd: 0 }, hold.amountNanoUsd);
  draft.put("block", { id: blockId(admittedAt), drawnBy: id, drawnAt: admittedAt, amountNanoUsd, closesAt });
  return { status: "opened" };
}

/** Nothing more is admitted from a block. It ends once it covers nothing. */
export function closeBlock(
  draft: Draft,
  rows: ReadRows,
  partition: Partition,
  { id }: CommandOf<"closeBlock">,
  clockMs: number,
): ReplyOf<CommandOf<"closeBlock">> {
  const block = blockDrawnBy(rows, id);
  if (block === undefined) return { status: "unknown" };
  draft.put("block", { ...block, closesAt: Math.min(block.closesAt, clockMs) });
  endIfOver(draft, partition, block.id, clockMs);
  return { status: "closed" };
}

/** Called with the counters of a hold that has ended in an account. */
export function uncover(draft: Draft, { counters, owner, admittedAt }: HoldRow, clockMs: number): void {
  if (counters.includes(ASKING)) forgetAsking(draft);
  if (counters.includes(" block:")) endIfOver(draft, owner, blockId(admittedAt), clockMs);
}

/** What the ceiling is told of a hold that is a block; undefined if it is none. An idle block ends here. */
export function askedOfBlock(
  draft: Draft,
  rows: ReadRows,
  partition: Partition,
  id: string,
  clockMs: number,
): ReplyOf<CommandOf<"inquire">> | undefined {
  const block = blockDrawnBy(rows, id);
  if (block !== undefined) endIfOver(draft, partition, block.id, clockMs);
  const ended = draft.get("hold", endedId(id));
  if (ended !== undefined) return { state: ended.state, chargeNanoUsd: ended.chargeNanoUsd };
  return block === undefined ? undefined : { state: "open", chargeNanoUsd: 0 };
}

function blockDrawnBy(rows: ReadRows, id: string): BlockRow | undefined {
  return rows.list("block", { limit: MOST_BLOCKS }).find(({ drawnBy }) => drawnBy === id);
}

function endIfOver(draft: Draft, partition: Partition, id: string, clockMs: number): void {
  const block = draft.get("block", id);
  if (block === undefined || clockMs < block.closesAt) return;
  if (counterOf(draft, blockCounterId(block.drawnAt)).openHolds === 0) endBlock(draft, partition, block);
}

/** Its outcome is kept as that of a hold, for the ceiling that may ask, and as long. */
function endBlock(draft: Draft, partition: Partition, { id, drawnBy, drawnAt, amountNanoUsd }: BlockRow): void {
  const counter = counterOf(draft, blockCounterId(drawnAt));
  const chargeNanoUsd = counter.settledNanoUsd;
  const ended = tombstone(endedId(drawnBy), partition, drawnAt);
  const outcome = { state: "settled", amountNanoUsd, chargeNanoUsd, followers: ceilingPartition } as const;
  draft.put("hold", { ...ended, ...outcome });
  draft.remove("block", id);
  if (draft.get("counter", counter.id) !== undefined) draft.remove("counter", counter.id);
  const told = { type: "follow", id: drawnBy, chargeNanoUsd, admittedAt: drawnAt } as const;
  deliver(draft, ended.id, ceilingPartition, told);
}

function forgetAsking(draft: Draft): void {
  const counter = draft.get("counter", ASKING);
  if (counter?.openHolds === 0) draft.remove("counter", ASKING);
}

/** The day's. */
function blockId(atMs: number): string {
  return String(windowStart("day", atMs));
}

function blockCounterId(atMs: number): string {
  return counterId(`block:${blockId(atMs)}`, { window: "day" }, atMs);
}

/** Beside the hold of the request that drew it, which ends at a charge of its own. */
function endedId(drawnBy: string): string {
  return `${drawnBy}.block`;
}
