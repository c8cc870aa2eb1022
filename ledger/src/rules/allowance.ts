import type { Address } from "@inference/protocol/credential";
import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import type { Allow, AllowAnswer, Ask } from "../messages/commands.ts";
import { deliver } from "../messages/delivery.ts";
import { agentPartition, ceilingPartition, isAccount, type Partition } from "../messages/partition.ts";
import { type AllowanceRow, isHold, type ReceiptRow } from "../rows/tables.ts";
import { ALLOWANCE_MS, STAYED_MS } from "./limits.ts";
import type { Place, Rule } from "./place.ts";

/**
 * The account's side of shared limits: the day's ceiling, and agents' offers. An account admits a request if its use,
 * its holds and the request are within what the limit allowed it for the day. Otherwise it asks, and admits nothing
 * more until the answer has come: a refused raise lowers.
 *
 * An ask has a number, and the limit knows the last one, so that a late or repeated ask changes nothing. One ask is
 * under way at a time: another request that needs more repeats it and adopts the row.
 */
export const noAllowance: Omit<AllowanceRow, "id"> = {
  usedNanoUsd: 0,
  allowedNanoUsd: 0,
  askedAt: 0,
  isAsking: 0,
  inPieces: 0,
  pieceNanoUsd: 0,
  dueAt: null,
};

export function allowanceId(day: number, limit: Partition): string {
  return `${day} ${limit}`;
}

/** The shared limits that bind a request of an account. */
export function limitsOf(server: string | null): Partition[] {
  return server === null ? [ceilingPartition] : [ceilingPartition, agentPartition(server as Address)];
}

type Wanted = {
  at: number;
  amountNanoUsd: NanoUsd;
  server: string | null;
  offer: string | null;
  inPieces: boolean;
};

/** The shared limits that have not allowed enough for a request. */
export function limitsToAsk(place: Place, holds: readonly ReceiptRow[], wanted: Wanted): Partition[] {
  const { at, amountNanoUsd, server } = wanted;
  if (amountNanoUsd === 0 || !isAccount(place.partition)) return [];
  const day = windowStart("day", at);
  return limitsOf(server).filter((limit) => {
    const row = rowOf(place, day, limit);
    return leastOf(row, holds, limit, day) + amountNanoUsd > row.allowedNanoUsd;
  });
}

/** The ask of a limit: the one under way, or a new one. */
export function askOf(place: Place, holds: readonly ReceiptRow[], limit: Partition, wanted: Wanted): Ask {
  const { draft, rows, partition: account, clockMs } = place;
  const day = windowStart("day", wanted.at);
  let row = rowOf(place, day, limit);
  const leastNanoUsd = leastOf(row, holds, limit, day);
  const isOffer = limit !== ceilingPartition;
  if (row.isAsking === 0) {
    if (row.askedAt === 0) for (const { id } of oldAllowances(rows, day - DAY_MS)) draft.remove("allowance", id);
    const allowedNanoUsd = Math.min(row.allowedNanoUsd, leastNanoUsd);
    const asking = { askedAt: nextNumber(row, clockMs), isAsking: 1, inPieces: Number(wanted.inPieces && !isOffer) };
    // When it is lowered is known before it is raised.
    row = { ...row, allowedNanoUsd, ...asking, dueAt: clockMs + ALLOWANCE_MS };
    draft.put("allowance", row);
  } else if (row.inPieces === 1) {
    // The next raise is for all that wait, so that many requests at once need few.
    row = { ...row, pieceNanoUsd: Math.min(row.pieceNanoUsd + wanted.amountNanoUsd, MAX_NANO_USD) };
    draft.put("allowance", row);
  }
  const neededNanoUsd = leastNanoUsd + wanted.amountNanoUsd;
  const moreNanoUsd = row.inPieces === 1 ? wanted.amountNanoUsd + row.pieceNanoUsd : 0;
  const wantedNanoUsd = Math.min(neededNanoUsd + moreNanoUsd, MAX_NANO_USD);
  const terms = { leastNanoUsd, neededNanoUsd, wantedNanoUsd };
  const { askedAt, usedNanoUsd } = row;
  const offer = isOffer ? wanted.offer : null;
  return { limit, command: { type: "allow", account, day, askedAt, usedNanoUsd, ...terms, offer } };
}

function rowOf({ draft }: Place, day: number, limit: Partition): AllowanceRow {
  const id = allowanceId(day, limit);
  return draft.get("allowance", id) ?? { id, ...noAllowance };
}

/** The amount that the account used and holds. */
function leastOf({ usedNanoUsd }: AllowanceRow, holds: readonly ReceiptRow[], limit: Partition, day: number): NanoUsd {
  let sum = usedNanoUsd;
  for (const { admittedAt, server, heldNanoUsd } of holds) {
    if (windowStart("day", admittedAt) === day && limitsOf(server).includes(limit)) sum += heldNanoUsd;
  }
  return sum;
}

/** A time, so that it is above the number of any ask before a restore. */
function nextNumber({ askedAt }: AllowanceRow, clockMs: number): number {
  return Math.max(askedAt + 1, clockMs);
}

/**
 * Adopts a limit's row, if it answers the ask that is under way.
 *
 * @returns The amount that the limit was told and the account does not know. Only the account tells the limit what it
 *   used, so with such an amount it is an older copy of itself.
 */
export function adoptAnswer(place: Place, answer: AllowAnswer): NanoUsd {
  const known = rowOf(place, answer.day, answer.limit);
  const lostNanoUsd = Math.max(0, answer.usedNanoUsd - known.usedNanoUsd);
  const usedNanoUsd = known.usedNanoUsd + lostNanoUsd;
  const row = { ...known, usedNanoUsd, allowedNanoUsd: Math.max(known.allowedNanoUsd, usedNanoUsd) };
  if (row.isAsking === 0 || answer.askedAt < row.askedAt) {
    if (lostNanoUsd > 0) place.draft.put("allowance", row);
    return lostNanoUsd;
  }
  const heard = { ...row, askedAt: answer.askedAt, isAsking: 0 };
  // A higher number is of an ask before a restore, and a clock that was set back. The next ask is above it.
  const isAnswer = answer.askedAt === row.askedAt;
  const { allowedNanoUsd, status, stays } = answer;
  const raisedNanoUsd = allowedNanoUsd - row.allowedNanoUsd;
  const pieceNanoUsd = status === "refused" ? 0 : Math.max(0, row.pieceNanoUsd - raisedNanoUsd);
  const dueAt = stays ? afterDay(place.partition, answer.day) : row.dueAt;
  place.draft.put("allowance", isAnswer ? { ...heard, allowedNanoUsd, pieceNanoUsd, dueAt } : heard);
  return lostNanoUsd;
}

/** When an allowance that stayed is lowered: the limit learns what was used, at another time from each account. */
function afterDay(account: Partition, day: number): number {
  const part = Number.parseInt(account.slice(-4), 16) / 0x10000;
  return day + DAY_MS + ALLOWANCE_MS + Math.floor(part * STAYED_MS);
}

/** Nothing is to be lowered if a request takes all that a limit allowed, and the limit knows what was used. */
export function closeAnswered(place: Place, holds: readonly ReceiptRow[], answers: readonly AllowAnswer[]): void {
  for (const { limit, day, usedNanoUsd, stays } of answers) {
    if (stays) continue;
    const row = rowOf(place, day, limit);
    const isOver = row.allowedNanoUsd > leastOf(row, holds, limit, day) || row.usedNanoUsd > usedNanoUsd;
    if (row.isAsking === 0 && row.dueAt !== null && !isOver) place.draft.put("allowance", { ...row, dueAt: null });
  }
}

/** Counts the end of a hold under its limits, which are told, and lowered, at once or when it is due. */
export function settleUnder(place: Place, { admittedAt, server }: ReceiptRow, chargeNanoUsd: NanoUsd): void {
  if (!isAccount(place.partition)) return;
  for (const limit of limitsOf(server)) countUnder(place, limit, windowStart("day", admittedAt), chargeNanoUsd);
}

export function countUnder(place: Place, limit: Partition, day: number, chargeNanoUsd: NanoUsd): void {
  const { draft, clockMs } = place;
  const row = rowOf(place, day, limit);
  const pieceNanoUsd = row.inPieces === 1 ? row.pieceNanoUsd + chargeNanoUsd : 0;
  const used = { ...row, usedNanoUsd: row.usedNanoUsd + chargeNanoUsd, pieceNanoUsd };
  const leastNanoUsd = leastOf(used, holdsNow(place), limit, day);
  const isOver = used.allowedNanoUsd > leastNanoUsd;
  // Nothing was asked: it was free.
  if (chargeNanoUsd === 0 && !isOver) return;
  if (row.inPieces === 0 && row.isAsking === 0) deliverLower(place, limit, day, lowered(used, leastNanoUsd, clockMs));
  else draft.put("allowance", { ...used, dueAt: row.dueAt ?? clockMs + ALLOWANCE_MS });
}

export const lower: Rule<"lower"> = (place, { limit: only }) => {
  const { rows, clockMs } = place;
  const holds = holdsNow(place);
  const asks: Ask[] = [];
  for (const row of rows.list("allowance", { limit: MAX_ALLOWANCES })) {
    const { day, limit } = partsOf(row);
    const isMeant = only === null ? row.dueAt !== null && row.dueAt <= clockMs : limit === only;
    if (!isMeant) continue;
    const leastNanoUsd = leastOf(row, holds, limit, day);
    asks.push(deliverLower(place, limit, day, lowered(row, leastNanoUsd, clockMs)));
  }
  return { asks };
};

/** An ask that is under way is over: its answer is older. */
function lowered(row: AllowanceRow, leastNanoUsd: NanoUsd, clockMs: number): AllowanceRow {
  return { ...row, allowedNanoUsd: leastNanoUsd, askedAt: nextNumber(row, clockMs), isAsking: 0, dueAt: null };
}

function deliverLower({ draft, partition }: Place, limit: Partition, day: number, row: AllowanceRow): Ask {
  draft.put("allowance", row);
  const { askedAt, usedNanoUsd, allowedNanoUsd: leastNanoUsd } = row;
  const terms = { leastNanoUsd, neededNanoUsd: leastNanoUsd, wantedNanoUsd: leastNanoUsd, offer: null };
  const command: Allow = { type: "allow", account: partition, day, askedAt, usedNanoUsd, ...terms };
  deliver(draft, `${day} ${askedAt}`, limit, command);
  return { limit, command };
}

/**
 * Trusts no allowance of before a restore: the limits may have given it to others since. The next due ask tells them
 * this account's holds.
 */
export function distrustAllowances({ draft, rows, clockMs }: Place): void {
  for (const { id } of rows.list("allowance", { limit: MAX_ALLOWANCES })) {
    const row = draft.get("allowance", id);
    if (row !== undefined)
      draft.put("allowance", { ...row, allowedNanoUsd: row.usedNanoUsd, isAsking: 0, dueAt: clockMs });
  }
}

/** The holds of a partition, with the changes of the command. */
export function holdsNow({ draft, rows }: Place): ReceiptRow[] {
  return rows.holds().flatMap((before) => {
    const now = draft.get("receipt", before.id) ?? before;
    return isHold(now) ? [now] : [];
  });
}

/** The first rows of days before one. Each new row deletes some, so they become few. */
export function oldAllowances(rows: Place["rows"], day: number): AllowanceRow[] {
  return rows.list("allowance", { limit: OLD_AT_ONCE }).filter((row) => partsOf(row).day < day);
}

const OLD_AT_ONCE = 2;
/** An account has three days, and an agent for each request. */
const MAX_ALLOWANCES = 10_000;

function partsOf({ id }: AllowanceRow): { day: number; limit: Partition } {
  const cut = id.indexOf(" ");
  return { day: Number(id.slice(0, cut)), limit: id.slice(cut + 1) };
}
