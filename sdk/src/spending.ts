import type { activityAnswer, creditsAnswer, generationAnswer } from "@inference/protocol/wire/answers";
import type { bookedRecord, statementsAnswer, statementUsesAnswer } from "@inference/protocol/wire/settlement";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import { requestAsReader } from "./session.ts";

export type Credits = z.infer<typeof creditsAnswer>["data"];
export type Receipt = z.infer<typeof generationAnswer>["data"];
export type ListedReceipt = Omit<Receipt, "settlement" | "signed_receipt">;
export type ActivityTotal = Exclude<z.infer<typeof activityAnswer>, { next_cursor: unknown }>["data"][number];
export type BookedRecord = z.infer<typeof bookedRecord>;
export type Statements = z.infer<typeof statementsAnswer>["data"];
export type StatementUse = z.infer<typeof statementUsesAnswer>["data"][number];

/** The balance, and the activations on their way to it. */
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
  /** The `X-Title` of requests. */
  tag?: string | undefined;
};

/** The account's spending, added up by any of `day`, `model`, `key` and `tag`. */
export async function readActivity(
  connection: Connection,
  { groupBy, ...options }: ActivityOptions & { groupBy: readonly ("day" | "model" | "key" | "tag")[] },
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

/** The account's final debits from 0 on, and the statement that is not final. */
export async function readStatements(connection: Connection): Promise<Statements> {
  type Page = { data: Statements; next_after: number | null };
  const records: BookedRecord[] = [];
  for (let after: number | undefined; ; ) {
    const page: Page = await requestAsReader<Page>(connection, "/api/v1/statements", { query: { after } });
    records.push(...page.data.records);
    if (page.next_after === null) return { ...page.data, records };
    after = nextAfter(page.next_after, after);
  }
}

/** The uses that end above a total of the account, in order of settlement, page by page. */
export async function* statementUses(connection: Connection, after = 0): AsyncGenerator<StatementUse> {
  type Page = { data: StatementUse[]; next_after: number | null };
  for (let from = after; ; ) {
    const page: Page = await requestAsReader<Page>(connection, "/api/v1/statements/uses", { query: { after: from } });
    yield* page.data;
    if (page.next_after === null) return;
    from = nextAfter(page.next_after, from);
  }
}

/** Throws if a page does not go forward: a false gateway would keep us for ever. */
function nextAfter(next: number, after = 0): number {
  if (next > after) return next;
  throw new ClientError("unreachable", "The gateway's pages of statements do not go forward.");
}

function queryOf({ keyId, ...options }: ActivityOptions) {
  return { ...options, key_id: keyId };
}
