import type { Partition } from "@inference/ledger/partition";
import type { Queries } from "@inference/ledger/reads";
import type { TotalRow } from "@inference/ledger/tables";
import { totalTerms } from "@inference/ledger/totals";
import { fail } from "@inference/protocol/errors";
import { isRequestId, makeRequestId } from "@inference/protocol/id";
import { ownValue } from "@inference/protocol/own-value";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import {
  type ActivityGroup,
  type ActivityQuery,
  activityGroups,
  activityQuery,
  MAX_ACTIVITY_DAYS,
} from "@inference/protocol/wire/activity";
import { activityAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import { type Reader, readerOf, requireReaders } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { type ExactNumber, usd } from "../http/money.ts";
import { queryOf } from "../http/query.ts";
import type { Turns } from "../load/turns.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { toGenerationObject } from "./generation.ts";

export const getActivity = endpoint({
  prefixes: apiPrefixes,
  path: "/activity",
  id: "getActivity",
  group: "Spending",
  title: "What was spent",
  about:
    "Receipts, the newest first, page by page; with `group_by` what they come to. An API key reads its own, a " +
    "wallet's session all of the wallet's. Totals stay when receipts are forgotten.",
  credentials: ["API key", "session"],
  query: activityQuery,
  answers: [
    ok("The receipts or totals. As CSV, `x-next-cursor` tells where the next page begins.", {
      ...json("ActivityAnswer", activityAnswer),
      "text/csv": null,
    }),
  ],
  errors: ["unsupported_parameter", "wrong_identity"],
  async handle(context) {
    const readers = await requireReaders(context);
    const query = validate(activityQuery, queryOf(context));
    const reader = readerOf(readers, query.budget);
    const days = daysOf(query, context.get("at"));
    const groups = activityGroups.filter((group) => query.group_by?.split(",").includes(group));
    const wantsCsv = query.format === "csv" || (query.format === undefined && accepts(context, "text/csv"));
    if (groups.length === 0) return listReceipts(context, reader, query, days, wantsCsv);
    const rows = await addUp(context, reader, query, days, groups);
    const columns = [...groups.map((group) => columnOf[group]), ...sums];
    const toObject = (row: TotalObject): TotalObject => row;
    return respond(context, reader, { rows, toObject, columns, rowsAtOnce: TOTALS_AT_ONCE, wantsCsv, next: undefined });
  },
});

/** UTC days, both included. */
type Days = { from: string; to: string };

function daysOf({ from, to }: ActivityQuery, atMs: number): Days {
  const last = to ?? utcDay(atMs);
  const first = from ?? utcDay(Date.parse(last) - 29 * DAY_MS);
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) fail("invalid_request", "`from` is later than `to`. Swap them.", { param: "from" });
  if (days > MAX_ACTIVITY_DAYS) {
    fail("invalid_request", `The range has ${days} days. Ask for at most ${MAX_ACTIVITY_DAYS} at a time.`, {
      param: "from",
    });
  }
  return { from: first, to: last };
}

async function listReceipts(
  context: GatewayContext,
  reader: Reader,
  { cursor, limit, model, key_id, tag }: ActivityQuery,
  { from, to }: Days,
  wantsCsv: boolean,
): Promise<Response> {
  if (cursor !== undefined && !isRequestId(cursor)) {
    fail("invalid_request", "`cursor` must be the `next_cursor` of the previous page, unchanged.", {
      param: "cursor",
    });
  }
  const { partition, keyId } = reader;
  const end = firstId(Date.parse(to) + DAY_MS);
  const { environment, freeWork } = context.get("gateway");
  await freeWork.wait(partition);
  const { receipts, next } = await environment.ledger.read(partition, {
    type: "receipts",
    before: cursor !== undefined && cursor < end ? cursor : end,
    after: firstId(Date.parse(from)),
    keyId: keyId ?? key_id ?? null,
    model: model ?? null,
    ...(tag === undefined ? {} : { tag }),
    limit,
  });
  // A key that asks for another key's receipts gets none.
  const own = receipts.filter((receipt) => key_id === undefined || receipt.keyId === key_id);
  return respond(context, reader, {
    rows: own,
    toObject: toGenerationObject,
    columns: receiptColumns,
    rowsAtOnce: RECEIPTS_AT_ONCE,
    wantsCsv,
    next,
  });
}

/** An id before those of all requests of this time. */
function firstId(atMs: number): string {
  return makeRequestId(Math.max(0, atMs), new Uint8Array(10));
}

/** Maximum totals that are added up for one request. */
const MAX_TOTALS = 10_000;
/** Maximum totals that are added up or written in one call. */
const TOTALS_AT_ONCE = 500;
/** Maximum receipts that are written in one call. */
const RECEIPTS_AT_ONCE = 50;

/** Adds up totals, under OpenRouter's names: the latest day first, then the largest sum. */
async function addUp(
  context: GatewayContext,
  { partition, keyId }: Reader,
  { model, key_id, tag }: ActivityQuery,
  { from, to }: Days,
  groups: readonly ActivityGroup[],
): Promise<TotalObject[]> {
  const { environment, freeWork } = context.get("gateway");
  const filter = { keyId: keyId ?? key_id ?? null, model: model ?? null, ...(tag === undefined ? {} : { tag }) };
  const byName = new Map<string, TotalObject>();
  let found = 0;
  let after: string | null = null;
  do {
    const query = { type: "totals" as const, from, to, after, ...filter, limit: TOTALS_AT_ONCE };
    await freeWork.wait(partition);
    const page: Queries["totals"]["answer"] = await environment.ledger.read(partition, query);
    found += page.totals.length;
    if (found > MAX_TOTALS) {
      fail(
        "invalid_request",
        "There are too many rows to add up at once. Ask for fewer days, or for one model, key or tag.",
      );
    }
    const own = page.totals.filter((total) => key_id === undefined || totalTerms(total).keyId === key_id);
    await freeWork.run(partition, () => addTotals(byName, own, groups));
    after = page.next;
  } while (after !== null);
  const latestFirst = (one = "", other = ""): number => (one === other ? 0 : one < other ? 1 : -1);
  return [...byName.values()].sort(
    (one, other) => latestFirst(one.date, other.date) || other.usage_nano_usd - one.usage_nano_usd,
  );
}

const columnOf: Record<ActivityGroup, string> = { day: "date", model: "model", key: "key_id", tag: "tag" };
const sums = ["requests", "usage", "usage_nano_usd", "prompt_tokens", "completion_tokens"];
type Sums = {
  requests: number;
  usage: ExactNumber;
  usage_nano_usd: number;
  prompt_tokens: number;
  completion_tokens: number;
};
type TotalObject = { date?: string; model?: string | null; key_id?: string | null; tag?: string | null } & Sums;

function addTotals(
  byName: Map<string, TotalObject>,
  totals: readonly TotalRow[],
  groups: readonly ActivityGroup[],
): void {
  for (const total of totals) {
    const { day, keyId, model, tag } = totalTerms(total);
    const values = { day, model: model === "" ? null : model, key: keyId, tag };
    const terms = Object.fromEntries(groups.map((group) => [columnOf[group], values[group]]));
    const name = JSON.stringify(terms);
    const sum = byName.get(name);
    const spent = (sum?.usage_nano_usd ?? 0) + total.chargeNanoUsd;
    byName.set(name, {
      ...terms,
      requests: (sum?.requests ?? 0) + total.requests,
      usage: usd(spent),
      usage_nano_usd: spent,
      prompt_tokens: (sum?.prompt_tokens ?? 0) + total.promptTokens,
      completion_tokens: (sum?.completion_tokens ?? 0) + total.completionTokens,
    });
  }
}

const receiptColumns: readonly string[] = [
  "id",
  "upstream_id",
  "created_at",
  "model",
  "route",
  "key_id",
  "outcome",
  "basis",
  "streamed",
  "cancelled",
  "generation_time",
  "total_cost",
  "charge_nano_usd",
  "tokens_prompt",
  "tokens_completion",
  "native_tokens_reasoning",
  "native_tokens_cached",
  "native_tokens_cache_write",
  "price_snapshot",
  "tag",
];

type Rows<Row> = {
  rows: readonly Row[];
  toObject(row: Row): Readonly<Record<string, CsvValue>>;
  columns: readonly string[];
  /** Maximum rows that are written in one call. */
  rowsAtOnce: number;
  wantsCsv: boolean;
  /** The cursor of the next page; undefined if there are no pages. */
  next: string | null | undefined;
};

async function respond<Row>(context: GatewayContext, { partition }: Reader, rows: Rows<Row>): Promise<Response> {
  const { columns, wantsCsv, next } = rows;
  const written = await writeRows(context.get("gateway").freeWork, partition, rows);
  if (!wantsCsv) {
    const page = next === undefined ? "" : `,"next_cursor":${JSON.stringify(next)}`;
    return context.body(`{"data":[${written.join(",")}]${page}}`, 200, { "content-type": "application/json" });
  }
  const headers: Record<string, string> = { "content-type": "text/csv; charset=utf-8; header=present" };
  if (next) headers["x-next-cursor"] = next;
  return context.body(csvLine(columns) + written.join(""), 200, headers);
}

/** Queues all pieces at once: several short ones run in one turn of free work. */
async function writeRows<Row>(freeWork: Turns, partition: Partition, rows: Rows<Row>): Promise<string[]> {
  const { toObject, columns, wantsCsv, rowsAtOnce } = rows;
  const write = (row: Row): string => {
    const object = toObject(row);
    return wantsCsv ? csvLine(columns.map((column) => ownValue(object, column) ?? null)) : JSON.stringify(object);
  };
  const pieces: Promise<string[]>[] = [];
  for (let from = 0; from < rows.rows.length; from += rowsAtOnce) {
    const some = rows.rows.slice(from, from + rowsAtOnce);
    pieces.push(freeWork.run(partition, () => some.map(write)));
  }
  return (await Promise.all(pieces)).flat();
}

function accepts(context: GatewayContext, mediaType: string): boolean {
  const accepted = context.req.header("accept")?.split(",") ?? [];
  return accepted.some((entry) => entry.split(";", 1)[0]?.trim().toLowerCase() === mediaType);
}

type CsvValue = string | number | boolean | null | ExactNumber;

/** One line of CSV (RFC 4180) with its line end. Null is an empty cell. */
function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: CsvValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.rawJSON : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
