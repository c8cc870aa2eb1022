import type { ListedReceipt } from "@inference/sdk/spending";
import type { UseQueryResult } from "@tanstack/react-query";
import { readReceipts, useKeys, useTotals } from "../account.ts";
import { type Session, useOwn } from "../wallet/session.ts";
import { type Range, rowsOfReceipts, rowsOfTotals, type SpendRow } from "./spend.ts";

const PAGE = 1_000;
const MOST_PAGES = 10;

/** The rows of a range, from which every figure of a screen is added up. */
export function useSpend(session: Session, range: Range): UseQueryResult<SpendRow[]> {
  const isByHour = range.by === "hour";
  const { from, to } = range;
  const totals = useTotals(session, { from, to }, !isByHour);
  const receipts = useOwn(session, ["spend by hour", from, to], () => readAll(session, from, to), 30_000, isByHour);
  const { data } = totals;
  if (isByHour) return receipts;
  return { ...totals, data: data === undefined ? undefined : rowsOfTotals(data) } as UseQueryResult<SpendRow[]>;
}

async function readAll(session: Session, from: string, to: string): Promise<SpendRow[]> {
  const all: ListedReceipt[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await readReceipts(session, { from, to }, { cursor, limit: PAGE });
    all.push(...page.data);
    if (page.next_cursor === null) return rowsOfReceipts(all);
    cursor = page.next_cursor;
  }
  throw new Error(
    `These hours have more than ${PAGE * MOST_PAGES} requests. Choose 7 days, which are added up by day.`,
  );
}

/** The name of a key by its id, also of one that was deleted. */
export function useKeyNames(session: Session): (id: string | null) => string {
  const { data } = useKeys(session);
  const names = new Map(data?.map(({ id, name, label }) => [id, name || label]));
  return (id) => (id === null ? "session" : (names.get(id) ?? `deleted key ${id.slice(0, 6)}…`));
}
