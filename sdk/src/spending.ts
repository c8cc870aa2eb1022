import type { activityAnswer, creditsAnswer, generationAnswer } from "@inference/protocol/wire/answers";
import type { batchAnswer, batchesAnswer } from "@inference/protocol/wire/settlement";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { request } from "./request.ts";
import { requestAsReader } from "./session.ts";

export type Credits = z.infer<typeof creditsAnswer>["data"];
export type Receipt = z.infer<typeof generationAnswer>["data"];
export type ListedReceipt = Omit<Receipt, "settlement">;
export type ActivityTotal = Exclude<z.infer<typeof activityAnswer>, { next_cursor: unknown }>["data"][number];
export type Batch = z.infer<typeof batchAnswer>["data"];
export type ListedBatch = z.infer<typeof batchesAnswer>["data"][number];

/** The balance, and what is on its way to it. */
export async function readCredits(connection: Connection): Promise<Credits> {
  return (await requestAsReader<{ data: Credits }>(connection, "/api/v1/credits")).data;
}

/** @param id The answer's `x-request-id`, or its body's `id`. */
export async function readReceipt(connection: Connection, id: string): Promise<Receipt> {
  return (await requestAsReader<{ data: Receipt }>(connection, "/api/v1/generation", { query: { id } })).data;
}

export type ActivityOptions = {
  /** UTC days, both included; absent: the last 30. */
  from?: string | undefined;
  to?: string | undefined;
  model?: string | undefined;
  keyId?: string | undefined;
};

/** What was spent, added up by any of `day`, `model` and `key`. */
export async function readActivity(
  connection: Connection,
  { groupBy, ...options }: ActivityOptions & { groupBy: readonly ("day" | "model" | "key")[] },
): Promise<ActivityTotal[]> {
  const query = { ...queryOf(options), group_by: groupBy.join(",") };
  return (await requestAsReader<{ data: ActivityTotal[] }>(connection, "/api/v1/activity", { query })).data;
}

/** The receipts, the newest first, page by page. */
export async function* receipts(connection: Connection, options: ActivityOptions = {}): AsyncGenerator<ListedReceipt> {
  type Page = { data: ListedReceipt[]; next_cursor: string | null };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...queryOf(options), cursor };
    const page: Page = await requestAsReader<Page>(connection, "/api/v1/activity", { query });
    yield* page.data;
    cursor = page.next_cursor;
  }
}

/** The batches in which uses are settled on chain, the newest first. */
export async function* batches(connection: Connection): AsyncGenerator<ListedBatch> {
  type Page = { data: ListedBatch[]; next_before: number | null };
  for (let before: number | null | undefined; before !== null; ) {
    const page: Page = await request<Page>(connection, "/api/v1/batches", { query: { before, limit: 100 } });
    yield* page.data;
    before = page.next_before;
  }
}

/** A batch, with the account's own uses and their proofs. */
export async function readBatch(connection: Connection, id: number): Promise<Batch> {
  return (await requestAsReader<{ data: Batch }>(connection, `/api/v1/batches/${id}`)).data;
}

function queryOf({ keyId, ...options }: ActivityOptions) {
  return { ...options, key_id: keyId };
}
