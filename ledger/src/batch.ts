import type { BatchName, Commands, ReplyOf } from "./commands.ts";
import type { Draft } from "./draft.ts";
import type { BatchRow, ReadRows, TransactionRow } from "./tables.ts";

/**
 * Batches of uses, in the partition of the chain on which they are settled. One batch at a time passes the states:
 *
 *     open -> built -> signed -> settled
 *        \______\_______\-> rejected -> gone
 *
 * Each state is durable before the next step has an effect elsewhere: a batch is open before its journal gives it uses,
 * a transaction is written down before it is sent, and a batch is rejected before its journal takes its uses back. Ids
 * follow each other, as the contract wants them: the batch after one that was dropped has its id.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function openBatch(draft: Draft, command: CommandOf<"openBatch">): ReplyOf<CommandOf<"openBatch">> {
  const { batch, openedAt, journal } = command;
  const existing = draft.get("batch", batchId(batch));
  if (existing !== undefined) return { status: isSame(existing, command) ? "open" : "conflict" };
  const previous = draft.get("batch", batchId(batch - 1));
  if (batch !== 1 && previous?.state !== "settled") return { status: "conflict" };
  const nothing = { root: null, uses: 0, amountNanoUsd: 0, firstUse: null, lastUse: null };
  const unsettled = { transactions: 0, settledBy: null, block: null, settledAt: null, entries: null };
  draft.put("batch", { id: batchId(batch), state: "open", journal, openedAt, ...nothing, ...unsettled });
  return { status: "open" };
}

export function buildBatch(draft: Draft, command: CommandOf<"buildBatch">): ReplyOf<CommandOf<"buildBatch">> {
  const { root, uses, amountNanoUsd, firstUse, lastUse, entries = null } = command;
  const row = find(draft, command);
  if (row === undefined) return { status: "conflict" };
  if (row.state !== "open") return { status: row.root === root && row.state !== "rejected" ? "built" : "conflict" };
  draft.put("batch", { ...row, state: "built", root, uses, amountNanoUsd, firstUse, lastUse, entries });
  return { status: "built" };
}

export function signBatch(draft: Draft, command: CommandOf<"signBatch">): ReplyOf<CommandOf<"signBatch">> {
  const row = find(draft, command);
  if (row === undefined || row.root === null || row.state === "rejected") return { status: "conflict" };
  const signed = transactionsOf(draft, row);
  if (signed.some(({ hash }) => hash === command.hash)) return { status: "signed" };
  if (row.state === "settled") return { status: "conflict" };
  // Under a second number, both could be settled.
  if (signed.some(({ nonce }) => nonce !== command.nonce)) return { status: "conflict" };
  const { hash, raw, nonce, maxFeePerGasWei, day, signedAt } = command;
  const transactions = row.transactions + 1;
  draft.put("transaction", {
    ...{ id: transactionId(row, transactions), hash, raw, nonce, maxFeePerGasWei, day, signedAt },
  });
  draft.put("batch", { ...row, state: "signed", transactions });
  return { status: "signed" };
}

export function settleBatch(draft: Draft, command: CommandOf<"settleBatch">): ReplyOf<CommandOf<"settleBatch">> {
  const { at, settledBy, block } = command;
  const row = find(draft, command);
  if (row?.state === "settled") return { status: row.settledBy === settledBy ? "settled" : "conflict" };
  // Also one that was only built: books that are an older copy do not know its transaction.
  if (row?.state !== "signed" && row?.state !== "built") return { status: "conflict" };
  draft.put("batch", { ...row, state: "settled", settledBy, block, settledAt: at });
  return { status: "settled" };
}

export function rejectBatch(draft: Draft, command: CommandOf<"rejectBatch">): ReplyOf<CommandOf<"rejectBatch">> {
  const row = find(draft, command);
  if (row === undefined || row.state === "settled") return { status: "conflict" };
  // Signed since then: that transaction may be settled.
  if (row.state !== "rejected" && row.transactions > command.transactions) return { status: "conflict" };
  draft.put("batch", { ...row, state: "rejected" });
  return { status: "rejected" };
}

export function dropBatch(draft: Draft, command: CommandOf<"dropBatch">): ReplyOf<CommandOf<"dropBatch">> {
  const row = find(draft, command);
  if (row === undefined) return { status: "dropped" };
  if (row.state !== "rejected") return { status: "conflict" };
  for (const { id } of transactionsOf(draft, row)) draft.remove("transaction", id);
  draft.remove("batch", row.id);
  return { status: "dropped" };
}

/** A batch and every transaction that was signed for it, the last first. */
export type BatchView = BatchRow & { batch: number; signed: readonly TransactionRow[] };

/** The batches before one, or the last ones; the newest first. */
export function batchesBefore(rows: ReadRows, before: number | null, query: BatchQuery): BatchView[] {
  const end = before === null ? AFTER_ALL : batchId(before);
  const views = rows.newest("batch", { before: end, limit: query.limit }).map((row) => viewOf(rows, row));
  if (query.withoutRaw !== true) return views;
  return views.map((view) => ({ ...view, signed: view.signed.map((transaction) => ({ ...transaction, raw: "" })) }));
}

/** `withoutRaw`: `raw` of each transaction is empty. A batch may have several, of up to 100 KB each. */
export type BatchQuery = { limit: number; withoutRaw?: boolean };

export function batchOf(rows: ReadRows, batch: number): BatchView | null {
  const row = rows.get("batch", batchId(batch));
  return row === undefined ? null : viewOf(rows, row);
}

const ID_DIGITS = 12;
/** After every digit. */
const AFTER_ALL = ":";

/** In the order of the numbers. */
export function batchId(batch: number): string {
  return String(batch).padStart(ID_DIGITS, "0");
}

function transactionId({ id }: BatchRow, place: number): string {
  return `${id}.${place}`;
}

function find(rows: Pick<ReadRows, "get">, name: BatchName): BatchRow | undefined {
  const row = rows.get("batch", batchId(name.batch));
  return row !== undefined && isSame(row, name) ? row : undefined;
}

function isSame(row: BatchRow, { openedAt }: BatchName): boolean {
  return row.openedAt === openedAt;
}

function transactionsOf(rows: Pick<ReadRows, "get">, row: BatchRow): TransactionRow[] {
  const places = Array.from({ length: row.transactions }, (_, index) => row.transactions - index);
  return places.flatMap((place) => rows.get("transaction", transactionId(row, place)) ?? []);
}

function viewOf(rows: ReadRows, row: BatchRow): BatchView {
  return { ...row, batch: Number(row.id), signed: transactionsOf(rows, row) };
}
