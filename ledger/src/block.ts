import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { windowStart } from "@inference/protocol/window";
import { counterId, counterOf, holdIn, resolveIn, shareOf } from "./budget.ts";
import type { CeilingTerms, Commands, ReplyOf } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved, tombstone, words } from "./hold-row.ts";
import { BLOCK_IDLE_MS, BLOCK_LEAST_REQUESTS, BLOCK_MS, BLOCK_SPENDING_MS } from "./limits.ts";
import { ceilingPartition, isCeiling, isCeilingShard, type Partition } from "./partition.ts";
import type { BlockRow, CounterRow, HoldRow, ReadRows, Rows } from "./tables.ts";

/**
 * Blocks: what an owner, an account or a shard of the ceiling, has taken of the day's ceiling, and admits requests from
 * without asking the ceiling again.
 *
 * A request without room in a block is held by the ceiling under its own id. The ceiling may hold more than it asked
 * for. `openBlock` then makes this hold the owner's block of the day: it covers the request, what the block before
 * covered, and what is admitted next. Until that command the hold ends with its request, as any other.
 *
 * A block admits for a minute. When it is closed and covers nothing any more, it ends at the sum of its charges. The
 * ceiling of an account may be a shard, which is an owner itself (`shard.ts`): the rule is the same on both levels.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Admitted = { at: number; amountNanoUsd: NanoUsd };

/** Counts the requests that asked for a block and have none yet. Only one asks at a time, for 10 s at most. */
const ASKING = "asking@";
/** What an owner has at most: today's block, yesterday's, and on another clock already tomorrow's. */
const MOST_BLOCKS = 100;
/** The detail of a hold that is larger than its request, in the ceiling, and the counter of what these hold. */
export const BLOCK = "block";
export const BLOCKS = "blocks@0";

/** Whether a block covers a new request, else what the account wants of the ceiling; and what counts it. */
export function underCeiling(
  rows: ReadRows,
  command: CommandOf<"reserve">,
  clockMs: number,
): { counters: CounterRow[]; terms: CeilingTerms } {
  if (command.blocks !== true || !command.followers.some(isCeiling)) return NOTHING;
  const block = blockWithRoom(rows, command, clockMs);
  if (block !== undefined) return { counters: [block.counter], terms: { isCovered: true } };
  return asking(rows, command, wantedBlock(rows, command, clockMs));
}

const NOTHING = { counters: [], terms: {} };

/** Asks for a block, unless another request does, or the request alone needs as much. */
export function asking(
  rows: Rows,
  { at, amountNanoUsd }: Admitted,
  wantedNanoUsd: NanoUsd,
): { counters: CounterRow[]; terms: CeilingTerms } {
  const counter = counterOf(rows, `${ASKING}${at - (at % BLOCK_IDLE_MS)}`);
  const leastNanoUsd = counterOf(rows, blockCounterId(at)).heldNanoUsd + amountNanoUsd;
  return counter.openHolds === 0 && wantedNanoUsd > amountNanoUsd
    ? { counters: [counter], terms: { wantedNanoUsd, leastNanoUsd } }
    : NOTHING;
}

/** What the ceiling holds of a request for which it has `mostNanoUsd`: a block that its owner can open, or no block. */
export function grantOf(
  { amountNanoUsd, wantedNanoUsd = 0, leastNanoUsd = 0 }: CommandOf<"reserveCeiling">,
  mostNanoUsd: NanoUsd,
): NanoUsd {
  const blockNanoUsd = Math.min(wantedNanoUsd, mostNanoUsd);
  return blockNanoUsd < leastNanoUsd ? amountNanoUsd : Math.max(amountNanoUsd, blockNanoUsd);
}

/** Whether a block covers a request that was admitted before. */
export function coverOf({ followers }: HoldRow, named: readonly string[]): CeilingTerms {
  return named.some(isCeiling) && !words(followers).some(isCeiling) ? { isCovered: true } : {};
}

export function withoutCeiling(followers: readonly string[]): string[] {
  return followers.filter((follower) => !isCeiling(follower));
}

/** The block that has room for a request: its counter, and the room. */
export function blockWithRoom(
  rows: Rows,
  { at, amountNanoUsd }: Admitted,
  clockMs: number,
): { counter: CounterRow; roomNanoUsd: NanoUsd } | undefined {
  const block = rows.get("block", blockId(at));
  if (block === undefined || clockMs >= block.closesAt) return undefined;
  const counter = counterOf(rows, blockCounterId(at));
  const roomNanoUsd = block.amountNanoUsd - counter.settledNanoUsd - counter.heldNanoUsd;
  return amountNanoUsd <= roomNanoUsd ? { counter, roomNanoUsd } : undefined;
}

/** What is in flight, and as much as the account spends in 30 s. Nothing, if it makes few requests. */
function wantedBlock(rows: ReadRows, { at, amountNanoUsd }: Admitted, clockMs: number): NanoUsd {
  const { openHolds, heldNanoUsd } = counterOf(rows, "balance@0");
  const receipts = rows.newest("receipt", { before: "~", limit: RECENT_RECEIPTS });
  const recent = receipts.filter(({ resolvedAt }) => resolvedAt > clockMs - BLOCK_IDLE_MS);
  if (recent.length + openHolds + 1 < BLOCK_LEAST_REQUESTS) return 0;
  const spent = recent.reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0);
  const spendingNanoUsd = blockSpending(rows, at, clockMs) ?? shareOf(spent, BLOCK_SPENDING_MS, BLOCK_IDLE_MS);
  return Math.min(MAX_NANO_USD, heldNanoUsd + amountNanoUsd + spendingNanoUsd);
}

/** What is spent in 30 s, by what was settled of the block of the day; undefined without one. */
export function blockSpending(rows: Rows, at: number, clockMs: number): NanoUsd | undefined {
  const block = rows.get("block", blockId(at));
  if (block === undefined) return undefined;
  const ageMs = Math.max(LEAST_AGE_MS, clockMs - block.drawnAt);
  return shareOf(counterOf(rows, blockCounterId(at)).settledNanoUsd, BLOCK_SPENDING_MS, ageMs);
}

const LEAST_AGE_MS = 1_000;
const RECENT_RECEIPTS = 8;

/**
 * Makes what the ceiling holds of a request the owner's block. The block before it is moved into it and ends, so that
 * an owner has one block of a day. Nothing changes if the request has ended or asks no more, if it is too late or older
 * than the block, or if the new block cannot cover what the old one covers.
 */
export function openBlock(
  draft: Draft,
  partition: Partition,
  { id, amountNanoUsd, limitNanoUsd }: CommandOf<"openBlock">,
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
  const ceiling = followers.find(isCeiling);
  if (!isUnresolved(hold) || ceiling === undefined || !hold.counters.includes(ASKING)) return { status: "unopened" };
  if (clockMs >= closesAt || heldNanoUsd > amountNanoUsd) return { status: "unopened" };
  if (before !== undefined && before.drawnAt > admittedAt) return { status: "unopened" };
  // Only an older version of the ceiling says no limit.
  if (isCeilingShard(partition) && limitNanoUsd === undefined) return { status: "unopened" };

  // After this point it is opened.
  if (before !== undefined) endBlock(draft, partition, before);
  const counters = askNoMore(draft, hold);
  draft.put("hold", {
    ...hold,
    followers: withoutCeiling(followers).join(" "),
    counters: [...counters, counter.id].join(" "),
  });
  holdIn(draft, { ...counter, settledNanoUsd: 0 }, hold.amountNanoUsd);
  const from = { ceiling: isCeilingShard(ceiling) ? ceiling : null };
  draft.put("block", { id: blockId(admittedAt), drawnBy: id, drawnAt: admittedAt, amountNanoUsd, closesAt, ...from });
  if (limitNanoUsd !== undefined) draft.put("budget", { id: "ceiling", window: "day", limitNanoUsd });
  return { status: "opened" };
}

/** Ends what counts that a request asks for a block. Returns the other counters of its hold. */
function askNoMore(draft: Draft, { counters, amountNanoUsd }: HoldRow): string[] {
  const all = words(counters);
  const askedIn = all.filter(isAsking);
  resolveIn(draft, askedIn, amountNanoUsd, 0);
  forgetAsking(draft, askedIn);
  return all.filter((other) => !isAsking(other));
}

/** Nothing more is admitted from a block. It ends once it covers nothing. One that is not open yet is never opened. */
export function closeBlock(
  draft: Draft,
  rows: ReadRows,
  partition: Partition,
  { id, lowered }: CommandOf<"closeBlock">,
  clockMs: number,
): ReplyOf<CommandOf<"closeBlock">> {
  if (lowered === true) closeHeldBlocks(draft, rows);
  const block = blockDrawnBy(rows, id);
  if (block === undefined) {
    const hold = draft.get("hold", id);
    if (hold !== undefined && isUnresolved(hold) && hold.counters.includes(ASKING)) {
      draft.put("hold", { ...hold, counters: askNoMore(draft, hold).join(" ") });
    }
    return { status: "unknown" };
  }
  draft.put("block", { ...block, closesAt: Math.min(block.closesAt, clockMs) });
  endIfOver(draft, partition, block.id, clockMs);
  return { status: "closed" };
}

/** Closes the blocks that this ceiling holds. */
export function closeHeldBlocks(draft: Draft, rows: ReadRows): void {
  for (const { id, owner, detail } of rows.unresolvedHolds()) {
    if (detail !== BLOCK) continue;
    deliver(draft, `${id}.close`, owner, { type: "closeBlock", id, ...(isCeilingShard(owner) && { lowered: true }) });
  }
}

/** Called with the counters of a hold that has ended in an owner's partition. */
export function uncover(
  draft: Draft,
  partition: Partition,
  { counters, admittedAt }: Pick<HoldRow, "counters" | "admittedAt">,
  clockMs: number,
): void {
  if (counters.includes(ASKING)) forgetAsking(draft, words(counters).filter(isAsking));
  if (counters.includes(" block:")) endIfOver(draft, partition, blockId(admittedAt), clockMs);
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
function endBlock(
  draft: Draft,
  partition: Partition,
  { id, drawnBy, drawnAt, amountNanoUsd, ceiling }: BlockRow,
): void {
  const counter = counterOf(draft, blockCounterId(drawnAt));
  const chargeNanoUsd = counter.settledNanoUsd;
  const ended = tombstone(endedId(drawnBy), partition, drawnAt);
  const heldBy = ceiling ?? ceilingPartition;
  const outcome = { state: "settled", amountNanoUsd, chargeNanoUsd, followers: heldBy } as const;
  draft.put("hold", { ...ended, ...outcome });
  draft.remove("block", id);
  if (draft.get("counter", counter.id) !== undefined) draft.remove("counter", counter.id);
  const told = { type: "follow", id: drawnBy, chargeNanoUsd, admittedAt: drawnAt } as const;
  deliver(draft, ended.id, heldBy, told);
}

function isAsking(counterId: string): boolean {
  return counterId.startsWith(ASKING);
}

function forgetAsking(draft: Draft, counterIds: readonly string[]): void {
  for (const id of counterIds) if (draft.get("counter", id)?.openHolds === 0) draft.remove("counter", id);
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
