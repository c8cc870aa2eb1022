import type { NanoUsd } from "@inference/protocol/money";
import type { Hearing, Statement } from "../messages/commands.ts";
import {
  type ChunkRow,
  isRead,
  type PayerRow,
  type ReadRows,
  type RecordRow,
  type Rows,
  type ToldRow,
} from "../rows/tables.ts";
import { MAX_TRANSACTIONS } from "./limits.ts";
import type { Rule } from "./place.ts";
import { positionId, positionOf } from "./position.ts";

/** Accounts' statements at the chain's partition, its replies, and the settler's transactions. */
export const tell: Rule<"tell"> = ({ draft }, { type, at, account, ...statement }) => {
  const id = account.toLowerCase();
  // The account has to hear: its statement is final, or it is an older copy and never heard of a debit.
  if (payerOf(draft, id).debitedNanoUsd > statement.beforeNanoUsd) return { status: "final" };
  const known = draft.get("told", id);
  // The rest of a statement that was paid in part waits since it was told whole.
  const toldAt = known?.root === statement.root ? known.toldAt : at;
  if (known === undefined || isLarger(statement, known)) draft.put("told", { id, ...statement, toldAt });
  return { status: "told" };
};

function isLarger(one: Statement, other: ToldRow): boolean {
  if (one.beforeNanoUsd !== other.beforeNanoUsd) return one.beforeNanoUsd > other.beforeNanoUsd;
  return one.afterNanoUsd > other.afterNanoUsd;
}

export const inquire: Rule<"inquire"> = ({ draft }, { account }) => {
  const cursor = draft.get("cursor", "cursor");
  if (!isRead(cursor)) return { status: "not_ready" };
  return { status: "answered", hearing: hearingAt(draft, account.toLowerCase(), cursor.replay) };
};

/** An account's totals by the cursor, and its told statement. */
export function hearingAt(rows: Rows, id: string, replay: number): Hearing {
  const { activatedNanoUsd, aheadNanoUsd, debitedNanoUsd, lastRoot } = payerOf(rows, id);
  const told = rows.get("told", id);
  return {
    ...{ replay, activatedNanoUsd: Math.max(activatedNanoUsd, aheadNanoUsd), debitedNanoUsd, lastRoot },
    told: told === undefined ? null : statementOf(told),
  };
}

export function payerOf(rows: Rows, id: string): PayerRow {
  return rows.get("payer", id) ?? { id, activatedNanoUsd: 0, aheadNanoUsd: 0, debitedNanoUsd: 0, lastRoot: null };
}

function statementOf({ beforeNanoUsd, afterNanoUsd, root, parts, oldestAt }: ToldRow): Statement {
  return { beforeNanoUsd, afterNanoUsd, root, parts, oldestAt };
}

export const signChunk: Rule<"signChunk"> = ({ draft }, { type, nonce, ...terms }) => {
  draft.put("transaction", { id: nonceId(nonce), ...terms });
  return { status: "signed" };
};

export const dropTransaction: Rule<"dropTransaction"> = ({ draft }, { nonce }) => {
  const id = nonceId(nonce);
  if (draft.get("transaction", id) !== undefined) draft.remove("transaction", id);
  return { status: "dropped" };
};

function nonceId(nonce: number): string {
  return String(nonce).padStart(16, "0");
}

/**
 * A told statement that begins at its account's final debits. Without activations beyond these debits it waits for
 * credit.
 */
export type DueStatement = Statement & {
  account: string;
  toldAt: number;
  activatedNanoUsd: NanoUsd;
};

/** Statements that do not wait for an earlier debit, oldest first. */
export function dueStatements(rows: ReadRows, limit: number): DueStatement[] {
  if (!isRead(rows.get("cursor", "cursor"))) return [];
  const due: DueStatement[] = [];
  for (const told of pagesOf(rows)) {
    const { activatedNanoUsd, debitedNanoUsd } = payerOf(rows, told.id);
    if (told.beforeNanoUsd === debitedNanoUsd)
      due.push({ account: told.id, ...statementOf(told), toldAt: told.toldAt, activatedNanoUsd });
  }
  return due.sort((one, other) => one.oldestAt - other.oldestAt).slice(0, limit);
}

/** Statements that are not final: their number, what they owe and credit covers, and the oldest admission of a use. */
export type Waiting = { accounts: number; amountNanoUsd: NanoUsd; oldestAt: number | null };

/** @param toldBefore Counts only those that were told before. Null: all. */
export function waitingOf(rows: ReadRows, toldBefore: number | null): Waiting {
  const waiting: Waiting = { accounts: 0, amountNanoUsd: 0, oldestAt: null };
  for (const { id, toldAt, afterNanoUsd, oldestAt } of pagesOf(rows)) {
    if (toldBefore !== null && toldAt >= toldBefore) continue;
    const { activatedNanoUsd, debitedNanoUsd } = payerOf(rows, id);
    waiting.accounts += 1;
    waiting.amountNanoUsd += Math.max(0, Math.min(afterNanoUsd, activatedNanoUsd) - debitedNanoUsd);
    waiting.oldestAt = Math.min(oldestAt, waiting.oldestAt ?? oldestAt);
  }
  return waiting;
}

const ROWS_A_PAGE = 1_000;

function* pagesOf(rows: ReadRows): Generator<ToldRow> {
  for (let after = ""; ; ) {
    const page = rows.list("told", { after, limit: ROWS_A_PAGE });
    yield* page;
    if (page.length < ROWS_A_PAGE) return;
    after = page.at(-1)?.id ?? after;
  }
}

export type PlacedRecord = Omit<RecordRow, "chunk"> & { beforeNanoUsd: NanoUsd; chunk: ChunkRow };

/** An account's final records that end above a position, in their order. */
export function recordsOf(
  rows: ReadRows,
  { account, afterNanoUsd, limit }: { account: string; afterNanoUsd: NanoUsd; limit: number },
): PlacedRecord[] {
  const own = `${account.toLowerCase()}:`;
  const after = recordId(account, afterNanoUsd);
  // It may begin at the position or before it, and end above it.
  const before = rows.newest("record", { before: `${after} `, limit: 1 });
  return [...before, ...rows.list("record", { after, limit })]
    .filter(({ id }) => id.startsWith(own))
    .map((row) => ({ ...row, beforeNanoUsd: positionOf(row.id.slice(own.length)) }))
    .filter(({ beforeNanoUsd, amountNanoUsd }) => beforeNanoUsd + amountNanoUsd > afterNanoUsd)
    .slice(0, limit)
    .flatMap((record) => {
      const chunk = rows.get("chunk", record.chunk);
      return chunk === undefined ? [] : { ...record, chunk };
    });
}

/** Whether a transaction that may be in flight has a record of the account. */
export function isSent(rows: ReadRows, account: string): boolean {
  const name = JSON.stringify(account.toLowerCase());
  return rows.list("transaction", { limit: MAX_TRANSACTIONS }).some(({ records }) => records.includes(name));
}

export function recordId(account: string, beforeNanoUsd: NanoUsd): string {
  return `${account.toLowerCase()}:${positionId(beforeNanoUsd)}`;
}
