import { isHold, type ReadRows, type ReceiptRow, type TotalRow } from "../rows/tables.ts";
import { totalTerms } from "./totals.ts";

/**
 * Reads an account's receipts and totals. A page reads a bounded number of rows, whatever the filter, and says where
 * the next page begins.
 */
const ROWS_A_PAGE = 1_000;

/** Null, or no tag: no filter. */
type Filter = { keyId: string | null; model: string | null; tag?: string };
export type ReceiptQuery = Filter & {
  type: "receipts";
  /** Ids of requests. Receipts between the two are read, without these. */
  before: string;
  after: string;
  limit: number;
};
export type TotalQuery = Filter & {
  type: "totals";
  /** UTC days, both included. */
  from: string;
  to: string;
  /** The `next` of the previous page. */
  after: string | null;
  limit: number;
};
/** `next` is where the next page begins; null if this is the last. */
export type ReceiptPage = { receipts: ReceiptRow[]; next: string | null };
export type TotalPage = { totals: TotalRow[]; next: string | null };

/** A resolved request that was forwarded. */
export function receiptOf(rows: ReadRows, id: string): ReceiptRow | null {
  const receipt = rows.get("receipt", id);
  return receipt !== undefined && isShown(receipt) ? receipt : null;
}

function isShown(receipt: ReceiptRow): boolean {
  return !isHold(receipt) && receipt.detail !== "";
}

/** The newest receipt with this id of the provider's answer. */
export function answeredReceipt(rows: ReadRows, upstreamId: string): ReceiptRow | null {
  const latest = rows.newest("receipt", { before: AFTER_ALL, limit: ROWS_A_PAGE });
  return latest.filter(isShown).find(whoseDetail("upstreamId", upstreamId)) ?? null;
}

export function receiptPage(rows: ReadRows, query: ReceiptQuery): ReceiptPage {
  const { keyId, model, tag } = query;
  const isFiltered = keyId !== null || model !== null || tag !== undefined;
  const rowsAtMost = isFiltered ? ROWS_A_PAGE : Math.min(ROWS_A_PAGE, query.limit + 1);
  const read = rows.newest("receipt", { before: query.before, limit: rowsAtMost });
  const isIn = ({ id }: ReceiptRow): boolean => id > query.after;
  const isOfModel = model === null ? () => true : whoseDetail("model", model);
  const hasTag = tag === undefined ? () => true : whoseDetail("tag", tag);
  const matches = (receipt: ReceiptRow): boolean =>
    isShown(receipt) && (keyId === null || receipt.keyId === keyId) && isOfModel(receipt) && hasTag(receipt);
  const { page, next } = fill(read, { isIn, matches, limit: query.limit, rowsAtMost });
  return { receipts: page, next };
}

export function totalPage(rows: ReadRows, query: TotalQuery): TotalPage {
  // The ids of a day's totals begin with the day, so the day sorts before them.
  const read = rows.list("total", { after: query.after ?? query.from, limit: ROWS_A_PAGE });
  const isIn = (total: TotalRow): boolean => totalTerms(total).day <= query.to;
  const matches = (total: TotalRow): boolean => {
    const { keyId, model, tag } = totalTerms(total);
    const hasTag = query.tag === undefined || tag === query.tag;
    return (query.keyId === null || keyId === query.keyId) && (query.model === null || model === query.model) && hasTag;
  };
  const { page, next } = fill(read, { isIn, matches, limit: query.limit, rowsAtMost: ROWS_A_PAGE });
  return { totals: page, next };
}

/** Sorts after all ids of requests. */
const AFTER_ALL = "~";

/** The first matching rows, and the last row that was checked if there may be more. */
function fill<R extends { id: string }>(
  read: readonly R[],
  {
    isIn,
    matches,
    limit,
    rowsAtMost,
  }: { isIn(row: R): boolean; matches(row: R): boolean; limit: number; rowsAtMost: number },
): { page: R[]; next: string | null } {
  const page: R[] = [];
  let last: R | undefined;
  for (const row of read) {
    if (!isIn(row)) return { page, next: null };
    if (page.length === limit) return { page, next: last?.id ?? null };
    last = row;
    if (matches(row)) page.push(row);
  }
  return { page, next: read.length === rowsAtMost ? (last?.id ?? null) : null };
}

/** Filters receipts by a value in their detail. It searches the text first, because parsing a thousand takes long. */
function whoseDetail(field: "model" | "upstreamId" | "tag", value: string): (receipt: ReceiptRow) => boolean {
  const text = JSON.stringify(value);
  return ({ detail }) => {
    if (!detail.includes(text)) return false;
    const terms = JSON.parse(detail) as { model?: string; upstreamId?: string | null; tag?: string };
    return terms[field] === value;
  };
}
