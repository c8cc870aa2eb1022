import type { ApiKey } from "@inference/sdk/keys";
import { request } from "@inference/sdk/request";
import type { ActivityTotal, Credits, ListedReceipt, Receipt, Statements } from "@inference/sdk/spending";
import type { UseQueryResult } from "@tanstack/react-query";
import { gateway } from "./gateway.ts";
import { type Session, useOwn } from "./wallet/session.ts";

/**
 * The signed-in account's data, read with its session alone: the code of wallets and chains is not needed for it. All
 * pages share what was read, and `queryClient.invalidateQueries({ queryKey: ["own"] })` reads everything again.
 */
export function useCredits(session: Session): UseQueryResult<Credits> {
  return useOwnData(session, ["credits"], "/api/v1/credits", {}, 15_000);
}

export function useKeys(session: Session): UseQueryResult<ApiKey[]> {
  return useOwnData(session, ["keys"], "/api/v1/keys", {}, 15_000);
}

export function useReceipt(session: Session, id: string): UseQueryResult<Receipt> {
  return useOwnData(session, ["receipt", id], "/api/v1/generation", { id }, 10_000);
}

/** A range of UTC days, both included, and filters. */
export type ActivityQuery = Readonly<Partial<Record<"from" | "to" | "model" | "key_id" | "tag", string | undefined>>>;

/** Totals by day, model, key and tag: one set of rows for every figure of a screen. */
export function useTotals(session: Session, query: ActivityQuery, isOn = true): UseQueryResult<ActivityTotal[]> {
  const asked = { ...query, group_by: "day,model,key,tag" };
  return useOwnData(session, ["totals", query], "/api/v1/activity", asked, 30_000, isOn);
}

/** The account's final debits and its open statement. The records are read for a check only. */
export function useStatements(session: Session): UseQueryResult<Statements> {
  return useOwnData(session, ["statements"], "/api/v1/statements", { limit: "1" }, 15_000);
}

type ReceiptPage = { data: ListedReceipt[]; next_cursor: string | null };

/** A page of receipts, the newest first. */
export function readReceipts(
  { token: bearer }: Session,
  query: ActivityQuery,
  page: { cursor?: string | undefined; limit: number },
): Promise<ReceiptPage> {
  return request(gateway, "/api/v1/activity", { bearer, query: { ...query, ...page } });
}

function useOwnData<T>(
  session: Session,
  name: readonly unknown[],
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  everyMs: number,
  isOn = true,
): UseQueryResult<T> {
  const read = async () => (await request<{ data: T }>(gateway, path, { bearer: session.token, query })).data;
  return useOwn(session, name, read, everyMs, isOn);
}
