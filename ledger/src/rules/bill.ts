import type { ServedPart } from "@inference/protocol/chunk";
import type { NanoUsd } from "@inference/protocol/money";
import type { Hearing, PostingTerms, Statement, Unheard } from "../messages/commands.ts";
import { isAccount } from "../messages/partition.ts";
import type { BillRow, ReadRows, ReceiptRow, Rows, UseRow } from "../rows/tables.ts";
import { distrustAllowances, holdsNow } from "./allowance.ts";
import { counterOf, LINE } from "./budget.ts";
import { DUST_MS, TELL_AGAIN_MS } from "./limits.ts";
import { mostActivated, noticeHeard } from "./notice.ts";
import type { Place, Rule } from "./place.ts";
import { positionId, positionOf } from "./position.ts";
import { resolve } from "./resolve.ts";

/**
 * An account's debt and debits. An account's charges are one line from 0, which ends at the settled amount. A use is
 * the stretch of its cost that ends at `endsAt`. A statement has the uses from `base`, the end of the final debits, to
 * the line's end at the sealing.
 *
 * The account hears its totals from the chain and counts none itself. A higher reading replaces the earlier one; within
 * one reading the larger totals count. After a restore an account may be an old copy, so it changes no money before it
 * has heard its totals in the host's epoch.
 */
export const noBill: BillRow = {
  id: "bill",
  baseNanoUsd: 0,
  openAfterNanoUsd: null,
  openRoot: null,
  openParts: null,
  openOldestAt: null,
  sealedAt: null,
  oldestAt: null,
  dueAt: null,
  dueFromNanoUsd: 0,
  replay: 0,
  debitedNanoUsd: 0,
  lastRoot: null,
  heardIn: 0,
  takenOverNanoUsd: 0,
  mostActivatedNanoUsd: null,
};

const NO_STATEMENT = { openAfterNanoUsd: null, openRoot: null, openParts: null, openOldestAt: null, sealedAt: null };

/**
 * Whether the account has yet to hear in this epoch. An identity owes nothing.
 *
 * @param lostNanoUsd The amount of the day that a limit knows and the account does not: it is an older copy, and hears
 *   again.
 */
export function unheard({ draft, partition, epoch }: Place, lostNanoUsd = 0): Unheard | undefined {
  if (!isAccount(partition)) return undefined;
  const bill = draft.get("bill", "bill");
  if (bill !== undefined && lostNanoUsd > 0) {
    draft.alert(`is an older copy: it used at least ${lostNanoUsd} more on this day`);
    draft.put("bill", { ...bill, heardIn: noBill.heardIn });
    return { status: "unheard", epoch };
  }
  return bill?.heardIn === epoch ? undefined : { status: "unheard", epoch };
}

/** Lays a use at the end of the line. */
export function layUse({ draft, clockMs }: Place, receipt: ReceiptRow, snapshot: string): NanoUsd {
  const { settledNanoUsd: endsAtNanoUsd } = counterOf(draft, LINE);
  const { id, chargeNanoUsd: costNanoUsd, admittedAt, server, offer } = receipt;
  draft.put("use", {
    ...{ id: positionId(endsAtNanoUsd), receipt: id, costNanoUsd, admittedAt, server, offer, snapshot },
  });
  const bill = draft.get("bill", "bill") ?? noBill;
  const isFirst = bill.oldestAt === null;
  const isDue =
    bill.openAfterNanoUsd === null && endsAtNanoUsd >= bill.dueFromNanoUsd && (bill.dueAt ?? clockMs + 1) > clockMs;
  if (isFirst || isDue) {
    draft.put("bill", { ...bill, oldestAt: bill.oldestAt ?? admittedAt, dueAt: isDue ? clockMs : bill.dueAt });
  }
  return endsAtNanoUsd;
}

export const seal: Rule<"seal"> = (place, command) => {
  const refused = unheard(place);
  if (refused !== undefined) return refused;
  const { draft } = place;
  const bill = draft.get("bill", "bill") ?? noBill;
  const { at } = command;
  if (bill.openAfterNanoUsd !== null) {
    draft.put("bill", { ...bill, dueAt: at + TELL_AGAIN_MS });
    return openReply(bill, bill.openAfterNanoUsd);
  }
  const { settledNanoUsd } = counterOf(draft, LINE);
  const next = nextDue(bill, settledNanoUsd, command);
  if (next !== undefined) {
    draft.put("bill", { ...bill, ...next });
    return { status: "not_due" };
  }

  // After this point the statement is open.
  const sealed = { openAfterNanoUsd: settledNanoUsd, openRoot: null, openParts: null, sealedAt: at };
  const times = { openOldestAt: bill.oldestAt ?? at, oldestAt: null, dueAt: at + TELL_AGAIN_MS };
  draft.put("bill", { ...bill, ...sealed, ...times });
  return openReply(bill, settledNanoUsd);
};

function openReply({ baseNanoUsd }: BillRow, afterNanoUsd: NanoUsd): ReturnType<typeof seal> {
  return { status: "open", beforeNanoUsd: baseNanoUsd, afterNanoUsd };
}

/** When the account's uses are looked at next; undefined if they are due now. */
function nextDue(
  { baseNanoUsd, oldestAt }: BillRow,
  settledNanoUsd: NanoUsd,
  { at, postNanoUsd, leastNanoUsd, intervalMs }: PostingTerms & { at: number },
): Pick<BillRow, "dueAt" | "dueFromNanoUsd"> | undefined {
  const owedNanoUsd = settledNanoUsd - baseNanoUsd;
  if (owedNanoUsd === 0) return { dueAt: null, dueFromNanoUsd: 0 };
  if (owedNanoUsd >= postNanoUsd) return undefined;
  const isDust = owedNanoUsd < leastNanoUsd;
  const dueAt = (oldestAt ?? at) + (isDust ? Math.max(intervalMs, DUST_MS) : intervalMs);
  return dueAt <= at ? undefined : { dueAt, dueFromNanoUsd: baseNanoUsd + (isDust ? leastNanoUsd : postNanoUsd) };
}

export const nameRoot: Rule<"nameRoot"> = ({ draft }, { beforeNanoUsd, afterNanoUsd, root, parts }) => {
  const bill = draft.get("bill", "bill") ?? noBill;
  const { openAfterNanoUsd, openRoot, baseNanoUsd } = bill;
  const isWithin = beforeNanoUsd < afterNanoUsd && afterNanoUsd <= (openAfterNanoUsd ?? 0);
  if (!isWithin || baseNanoUsd !== beforeNanoUsd) return { status: "conflict" };
  if (openRoot !== null) return { status: openRoot === root ? "named" : "conflict" };
  const oldestAt = afterNanoUsd === openAfterNanoUsd ? bill.oldestAt : bill.openOldestAt;
  draft.put("bill", { ...bill, openAfterNanoUsd: afterNanoUsd, openRoot: root, openParts: parts, oldestAt });
  return { status: "named" };
};

export const hear: Rule<"hear"> = (place, command) => {
  const { draft, epoch } = place;
  const before = draft.get("bill", "bill") ?? noBill;
  const isAnswer = command.epoch === epoch;
  const isNewEpoch = isAnswer && before.heardIn !== epoch;
  // After a restore the account may know a later reading than the chain's partition. The partition's answer counts.
  const known = isNewEpoch ? { ...before, replay: Math.min(before.replay, command.replay) } : before;
  const heard = adopt(place, takeOver(place, closePaid(place, merge(place, known, command)), command.at), command);
  const mostActivatedNanoUsd = Math.max(mostActivated(place.rows), mostActivated(draft));
  draft.put("bill", { ...heard, mostActivatedNanoUsd, heardIn: isAnswer ? epoch : heard.heardIn });
  if (isNewEpoch) distrustAllowances(place);
  noticeHeard(place);
  return { status: isAnswer || command.epoch === null ? "heard" : "late" };
};

/** A new reading of the chain replaces. Within one the larger totals count. */
function merge({ draft }: Place, bill: BillRow, hearing: Hearing): BillRow {
  const { replay, activatedNanoUsd, debitedNanoUsd, lastRoot } = hearing;
  if (replay < bill.replay) return bill;
  const isNew = replay > bill.replay;
  const balance = draft.get("budget", "balance") ?? { id: "balance", window: "lifetime", limitNanoUsd: 0 };
  if (isNew || activatedNanoUsd > (balance.limitNanoUsd ?? 0)) {
    draft.put("budget", { ...balance, limitNanoUsd: activatedNanoUsd });
  }
  if (!isNew && debitedNanoUsd < bill.debitedNanoUsd) return bill;
  return { ...bill, replay, debitedNanoUsd, lastRoot };
}

/** The open statement is final. */
function closePaid({ draft }: Place, bill: BillRow): BillRow {
  const { openAfterNanoUsd, openRoot, debitedNanoUsd, lastRoot } = bill;
  if (openAfterNanoUsd === null || openRoot !== lastRoot || openAfterNanoUsd !== debitedNanoUsd) return bill;
  return withoutStatement(draft, { ...bill, baseNanoUsd: debitedNanoUsd });
}

/** No statement is open any more. Uses after the base are looked at next. */
function withoutStatement(draft: Rows, bill: BillRow): BillRow {
  const isOwing = counterOf(draft, LINE).settledNanoUsd > bill.baseNanoUsd;
  const oldestAt = isOwing ? (bill.oldestAt ?? bill.openOldestAt) : null;
  return { ...bill, ...NO_STATEMENT, oldestAt, dueAt: oldestAt, dueFromNanoUsd: 0 };
}

/**
 * Final debits that are not by the open statement pay for the account's own uses up to there, and move the line's end
 * if it has none.
 */
function takeOver(place: Place, bill: BillRow, at: number): BillRow {
  const { draft } = place;
  const { openAfterNanoUsd, openRoot, debitedNanoUsd, lastRoot, baseNanoUsd } = bill;
  const isOwn = openAfterNanoUsd !== null && lastRoot === openRoot && debitedNanoUsd < openAfterNanoUsd;
  if (debitedNanoUsd <= baseNanoUsd || isOwn) return bill;
  const amountNanoUsd = debitedNanoUsd - baseNanoUsd;
  draft.alert(`takes over debits of ${amountNanoUsd} from ${baseNanoUsd}, which its statements did not cause`);
  moveTo(place, debitedNanoUsd);
  releaseAll(place, at);
  const takenOverNanoUsd = bill.takenOverNanoUsd + amountNanoUsd;
  return withoutStatement(draft, { ...bill, baseNanoUsd: debitedNanoUsd, takenOverNanoUsd });
}

export const releaseHolds: Rule<"releaseHolds"> = (place, { at }) => {
  releaseAll(place, at);
  return { status: "released" };
};

/** The request of a hold from before a restore may be among the uses that were debited and are lost. */
function releaseAll(place: Place, at: number): void {
  for (const hold of holdsNow(place)) {
    resolve(place, hold, { at, state: "released", chargeNanoUsd: 0, lossNanoUsd: 0, detail: null });
  }
}

/** A statement that was told before a restore becomes the open one. Its uses are lost. */
function adopt(place: Place, bill: BillRow, { at, replay, told }: Hearing & { at: number }): BillRow {
  const { openAfterNanoUsd, openRoot, debitedNanoUsd, baseNanoUsd } = bill;
  if (told === null || replay < bill.replay || told.root === openRoot) return bill;
  if (told.beforeNanoUsd !== debitedNanoUsd || baseNanoUsd !== debitedNanoUsd) return bill;
  if (told.afterNanoUsd <= (openAfterNanoUsd ?? baseNanoUsd)) return bill;
  const { draft, clockMs } = place;
  const amountNanoUsd = told.afterNanoUsd - told.beforeNanoUsd;
  draft.alert(`adopts a statement of ${amountNanoUsd} that it told and does not know`);
  moveTo(place, told.afterNanoUsd);
  releaseAll(place, at);
  const isOwing = counterOf(draft, LINE).settledNanoUsd > told.afterNanoUsd;
  return {
    ...bill,
    openAfterNanoUsd: told.afterNanoUsd,
    openRoot: told.root,
    openParts: told.parts,
    openOldestAt: told.oldestAt,
    sealedAt: clockMs,
    oldestAt: isOwing ? (bill.oldestAt ?? bill.openOldestAt ?? clockMs) : null,
    dueAt: clockMs,
    takenOverNanoUsd: bill.takenOverNanoUsd + amountNanoUsd,
  };
}

/** The line ends there at least. */
function moveTo({ draft }: Place, positionNanoUsd: NanoUsd): void {
  const line = counterOf(draft, LINE);
  if (line.settledNanoUsd < positionNanoUsd) draft.put("counter", { ...line, settledNanoUsd: positionNanoUsd });
}

export type BillView = {
  activatedNanoUsd: NanoUsd;
  /** The position where the line ends. */
  settledNanoUsd: NanoUsd;
  debitedNanoUsd: NanoUsd;
  baseNanoUsd: NanoUsd;
  open: {
    beforeNanoUsd: NanoUsd;
    afterNanoUsd: NanoUsd;
    root: string | null;
    parts: string | null;
    sealedAt: number;
    oldestAt: number;
  } | null;
  /** The statement to tell the chain's partition. After a payment in part: the rest, under the same root. */
  toTell: Statement | null;
  /** When the oldest use after the open statement was admitted. */
  oldestAt: number | null;
  takenOverNanoUsd: NanoUsd;
};

export function billView(rows: ReadRows): BillView {
  const bill = rows.get("bill", "bill") ?? noBill;
  const { baseNanoUsd, debitedNanoUsd, lastRoot, oldestAt, takenOverNanoUsd } = bill;
  const { openAfterNanoUsd: afterNanoUsd, openRoot: root, openParts: parts } = bill;
  const open =
    afterNanoUsd === null
      ? null
      : {
          ...{ beforeNanoUsd: baseNanoUsd, afterNanoUsd, root, parts },
          ...{ sealedAt: bill.sealedAt ?? 0, oldestAt: bill.openOldestAt ?? 0 },
        };
  const beforeNanoUsd = root !== null && lastRoot === root ? debitedNanoUsd : baseNanoUsd;
  return {
    activatedNanoUsd: rows.get("budget", "balance")?.limitNanoUsd ?? 0,
    settledNanoUsd: counterOf(rows, LINE).settledNanoUsd,
    ...{ debitedNanoUsd, baseNanoUsd, open, oldestAt, takenOverNanoUsd },
    toTell:
      open === null || root === null || parts === null
        ? null
        : {
            ...{ beforeNanoUsd, afterNanoUsd: open.afterNanoUsd, root, oldestAt: open.oldestAt },
            parts: partsAfter(parts, beforeNanoUsd - baseNanoUsd),
          },
  };
}

/** The parts that are left of a statement that was paid in part. The contract pays them in their order. */
function partsAfter(parts: string, paidNanoUsd: NanoUsd): string {
  if (paidNanoUsd === 0) return parts;
  let rest = paidNanoUsd;
  const left = (JSON.parse(parts) as ServedPart[]).flatMap((part) => {
    const paid = Math.min(rest, part.amountNanoUsd);
    rest -= paid;
    return paid === part.amountNanoUsd ? [] : [{ ...part, amountNanoUsd: part.amountNanoUsd - paid }];
  });
  return JSON.stringify(left);
}

/** A use with its place on the line. */
export type PlacedUse = UseRow & {
  endsAtNanoUsd: NanoUsd;
  /** The key of its receipt; null if that is forgotten, or without `withKeys`. */
  keyId: string | null;
};

/** @param query.withKeys Reads each use's receipt too, which costs more than the uses. */
export function usesOf(
  rows: ReadRows,
  { afterNanoUsd, limit, withKeys = false }: { afterNanoUsd: NanoUsd; limit: number; withKeys?: boolean },
): PlacedUse[] {
  return rows.list("use", { after: positionId(afterNanoUsd), limit }).map((use) => {
    const keyId = withKeys ? (rows.get("receipt", use.receipt)?.keyId ?? null) : null;
    return { ...use, endsAtNanoUsd: positionOf(use.id), keyId };
  });
}
