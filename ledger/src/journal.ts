import { assertNanoUsd } from "@inference/protocol/money";
import type { Commands, ReplyOf, UseRange } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { words } from "./hold-row.ts";
import { isDaysOwn, journalDay, journalPartition, type Partition } from "./partition.ts";
import type { GatheringRow, ReadRows, Rows, UseRow } from "./tables.ts";

/**
 * A day's uses, and what of them goes into batches. A use is in one batch, or waits, or was set aside: its row says
 * which. The row `gathering` says up to which id none waits, so that a journal of any size is read from there.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

/** In place of a batch's id, of a use that the contract refuses. */
export const NOT_POSTED = 0;

/** Writes a use into the journal of its day, once. The day's own journal is told of each shard that has a use. */
export function journal(
  draft: Draft,
  partition: Partition,
  command: CommandOf<"journal">,
): ReplyOf<CommandOf<"journal">> {
  const existing = draft.get("use", command.id);
  if (existing !== undefined) {
    const isSame = existing.chargeNanoUsd === command.chargeNanoUsd && existing.account === command.account;
    if (isSame && existing.server === command.server && existing.offer === (command.offer ?? null)) {
      return { status: "journalled" };
    }
    draft.alert(`use ${command.id} is ${existing.chargeNanoUsd}, and came again as ${command.chargeNanoUsd}`);
    return { status: "conflict" };
  }
  const { id, account, chargeNanoUsd, admittedAt, server, offer = null } = command;
  draft.put("use", { id, account, chargeNanoUsd, admittedAt, server, batch: null, offer, setAside: null });
  const name = partition.slice(journalPartition("").length);
  const total = draft.get("counter", "uses@0");
  if (total === undefined && !isDaysOwn(name)) {
    deliver(draft, name, journalPartition(journalDay(name)), { type: "addShard", journal: name });
  }
  const settledNanoUsd = assertNanoUsd((total?.settledNanoUsd ?? 0) + chargeNanoUsd, "a journal's total");
  draft.put("counter", { id: "uses@0", settledNanoUsd, heldNanoUsd: 0, openHolds: 0 });
  // It was admitted before others that are in batches, and ended after them.
  const gathering = gatheringOf(draft);
  if (gathering !== undefined && id <= gathering.gatheredTo) {
    draft.put("gathering", { ...gathering, gatheredTo: before(id) });
  }
  return { status: "journalled" };
}

export function addShard(draft: Draft, { journal }: CommandOf<"addShard">): ReplyOf<CommandOf<"addShard">> {
  const shards = shardsOf(draft);
  const gathering = gatheringOf(draft) ?? nothingGathered;
  if (!shards.includes(journal)) draft.put("gathering", { ...gathering, shards: [...shards, journal].join(" ") });
  return { status: "added" };
}

/** The journals of a day's shards, in the day's own journal. */
export function shardsOf(rows: Rows): string[] {
  return words(rows.get("gathering", "gathering")?.shards ?? "");
}

export function gatherUses(
  draft: Draft,
  rows: ReadRows,
  { batch, openedAt, maxUses, maxEntries, maxServes }: CommandOf<"gatherUses">,
): ReplyOf<CommandOf<"gatherUses">> {
  const gathering = gatheringOf(draft) ?? nothingGathered;
  if (gathering.openedAt >= openedAt) {
    const isSame = gathering.openedAt === openedAt && gathering.batch === batch;
    return isSame
      ? { status: "gathered", uses: usesOf(rows, gathering) }
      : { status: "late", openedAt: gathering.openedAt };
  }
  let { gatheredTo } = gathering;
  const waiting: UseRow[] = [];
  for (const use of walk(rows, gatheredTo)) {
    if (isWaiting(use)) waiting.push(use);
    else if (waiting.length === 0) gatheredTo = use.id;
    if (waiting.length === maxUses) break;
  }
  const entries = new Set<string>();
  let serves = 0;
  for (const use of waiting) {
    const isServe = use.offer !== null;
    if (entries.has(entryOf(use)) || entries.size === maxEntries || (isServe && serves === maxServes)) continue;
    entries.add(entryOf(use));
    if (isServe) serves += 1;
  }
  const uses = waiting.filter((use) => entries.has(entryOf(use))).map((use) => ({ ...use, batch }));
  for (const use of uses) draft.put("use", use);
  // Up to the first that still waits.
  const firstLeft = waiting.findIndex((use) => !entries.has(entryOf(use)));
  gatheredTo = waiting[(firstLeft === -1 ? waiting.length : firstLeft) - 1]?.id ?? gatheredTo;
  const range = { firstUse: uses[0]?.id ?? null, lastUse: uses.at(-1)?.id ?? null };
  draft.put("gathering", { ...gathering, gatheredTo, batch, openedAt, ...range });
  return { status: "gathered", uses };
}

export function returnUses(
  draft: Draft,
  rows: ReadRows,
  { batch, openedAt, setAside }: CommandOf<"returnUses">,
): ReplyOf<CommandOf<"returnUses">> {
  const gathering = gatheringOf(draft) ?? nothingGathered;
  if (gathering.openedAt > openedAt) return { status: "returned" };
  // Its request for uses may still be on its way: it comes too late from now on.
  if (gathering.openedAt < openedAt || gathering.batch !== batch) {
    draft.put("gathering", { ...gathering, ...noBatch, openedAt });
    return { status: "returned" };
  }
  const refused = new Set(setAside?.ids);
  for (const use of usesOf(rows, gathering)) {
    const reason = refused.has(use.id) ? (setAside?.reason ?? "") : null;
    if (reason !== null)
      draft.alert(`use ${use.id} of ${use.account} is refused on chain (${reason}), and is not posted`);
    draft.put("use", { ...use, batch: reason === null ? null : NOT_POSTED, setAside: reason });
  }
  const { firstUse } = gathering;
  const gatheredTo = firstUse === null || firstUse > gathering.gatheredTo ? gathering.gatheredTo : before(firstUse);
  draft.put("gathering", { ...gathering, ...noBatch, gatheredTo, openedAt });
  return { status: "returned" };
}

export function setAsideUses(
  draft: Draft,
  rows: ReadRows,
  { until, limit }: CommandOf<"setAsideUses">,
): ReplyOf<CommandOf<"setAsideUses">> {
  let uses = 0;
  for (const use of walk(rows, gatheringOf(draft)?.gatheredTo ?? "")) {
    if (!isWaiting(use) || use.admittedAt > until) continue;
    draft.put("use", { ...use, batch: NOT_POSTED, setAside: "rebuilt" });
    uses += 1;
    if (uses === limit) break;
  }
  return { uses };
}

/** How many uses wait, up to a limit, and when the oldest was admitted; and the journals of the day's shards. */
export function waitingUses(rows: ReadRows, limit: number): WaitingUses {
  let uses = 0;
  let oldestAt: number | null = null;
  for (const use of walk(rows, rows.get("gathering", "gathering")?.gatheredTo ?? "")) {
    if (!isWaiting(use)) continue;
    uses += 1;
    oldestAt = Math.min(oldestAt ?? use.admittedAt, use.admittedAt);
    if (uses === limit) break;
  }
  return { uses, oldestAt, shards: shardsOf(rows) };
}

/** @param shards Older versions do not send them. */
export type WaitingUses = { uses: number; oldestAt: number | null; shards?: string[] };

/** The uses of a batch, in the order of their ids, in a journal that it took them from. */
export function batchUses(rows: ReadRows, batch: number, { firstUse, lastUse }: UseRange): UseRow[] {
  const uses: UseRow[] = [];
  for (const use of walk(rows, before(firstUse))) {
    if (use.id > lastUse) break;
    if (use.batch === batch) uses.push(use);
  }
  return uses;
}

const noBatch = { batch: null, firstUse: null, lastUse: null } as const;
const nothingGathered: GatheringRow = { id: "gathering", gatheredTo: "", openedAt: 0, shards: null, ...noBatch };
const ROWS_A_PAGE = 500;

/** The uses of an account that one server served are one entry of a batch. */
function entryOf({ account, server, offer }: UseRow): string {
  return offer === null ? account : `${account} ${server}`;
}

/** What cost nothing is not posted. */
function isWaiting({ batch, chargeNanoUsd }: UseRow): boolean {
  return batch === null && chargeNanoUsd > 0;
}

function gatheringOf(draft: Draft): GatheringRow | undefined {
  return draft.get("gathering", "gathering");
}

function usesOf(rows: ReadRows, { batch, firstUse, lastUse }: GatheringRow): UseRow[] {
  if (batch === null || firstUse === null || lastUse === null) return [];
  return batchUses(rows, batch, { firstUse, lastUse });
}

function* walk(rows: ReadRows, from: string): Generator<UseRow> {
  let after = from;
  for (;;) {
    const page = rows.list("use", { after, limit: ROWS_A_PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < ROWS_A_PAGE) return;
    after = last.id;
  }
}

/** A text that is less than an id, and than which few other ids are greater and still less than this one. */
function before(id: string): string {
  return id.slice(0, -1);
}
