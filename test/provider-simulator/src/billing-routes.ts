import type { BilledCharge } from "./billing.ts";
import { smaller, usdFromAtto } from "./decimal.ts";
import { plainError, schemaError, WireError } from "./errors.ts";
import { type Exchange, providerHeaders, sendJson, sendText } from "./exchange.ts";
import { dayName } from "./keys.ts";
import type { ChargeLine } from "./pricing.ts";
import type { Simulator } from "./simulator.ts";

/** `GET /billing/balance`. */
export function balance(x: Exchange): void {
  const { ledger, settings } = x.sim;
  const diem = ledger.diem();
  const fields = [
    `"canConsume":${ledger.canConsume()}`,
    `"consumptionCurrency":"${diem > 0n ? "DIEM" : "USD"}"`,
    `"balances":{"diem":${usdFromAtto(diem)},"usd":${usdFromAtto(ledger.usd())}}`,
    `"diemEpochAllocation":${settings.stakedUnits}`,
  ];
  sendJson(x, `{${fields.join(",")}}`);
}

/**
 * `GET /billing/allowance?day=YYYY-MM-DD`, today without a day: what each key took from the allowance of that UTC day,
 * and what it took from the paid balance on it. Of this simulator only: of the real provider's calls none says it
 * exactly.
 */
export function allowance(x: Exchange): void {
  const { ledger, keys, now } = x.sim;
  const day = new URLSearchParams(x.search).get("day") ?? dayName(now());
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new WireError(schemaError("day", "Invalid date"));
  const rows = [...ledger.takenOn(day)].map(([keyId, { diemAtto, usdAtto }]) => {
    const description = keys.find(keyId)?.description ?? null;
    return { keyId, description, allowanceAttoUsd: String(diemAtto), balanceAttoUsd: String(usdAtto) };
  });
  sendJson(x, JSON.stringify({ day, data: rows }));
}

/** `GET /billing/usage` was switched off; this is all it says. */
export function usageIsGone(x: Exchange): void {
  const headers = providerHeaders(x, "application/json; charset=utf-8", null);
  headers.push("deprecation", "true", "sunset", "Wed, 16 Sep 2026 00:00:00 GMT");
  headers.push("link", '</api/v1/billing/usage-history>; rel="successor-version"');
  sendText(x, 410, headers, JSON.stringify({ error: "This endpoint has been removed. Use /billing/usage-history." }));
}

interface Query {
  readonly fromMs: number;
  readonly toMs: number;
  readonly currency: string | null;
  readonly pageSize: number;
  /** The charge to go on with. */
  readonly next: number;
}

/**
 * `GET /billing/usage-history`: a row for each line of each charge, oldest first; a page ends between two charges, so
 * it may be a few rows longer than its size. The cursor stands alone and holds the rest of the query.
 */
export function usageHistory(x: Exchange): void {
  const query = readQuery(new URLSearchParams(x.search));
  const { rows, next } = page(x.sim, query);
  const cursor = next === null ? null : Buffer.from(JSON.stringify({ ...query, next })).toString("base64url");
  if (!(x.request.headers.accept ?? "").includes("text/csv")) {
    sendJson(x, `{"data":[${rows.map((row) => row.json).join(",")}],"nextCursor":${JSON.stringify(cursor)}}`);
    return;
  }
  const headers = providerHeaders(x, "text/csv; charset=utf-8", null);
  if (cursor !== null) headers.push("x-next-cursor", cursor);
  const title = "timestamp,sku,units,pricePerUnitUsd,amount,currency,notes,requestId";
  sendText(x, 200, headers, `${[title, ...rows.map((row) => row.csv)].join("\n")}\n`);
}

function readQuery(search: URLSearchParams): Query {
  const cursor = search.get("cursor");
  if (cursor !== null) {
    if (search.size > 1) throw new WireError(schemaError("cursor", "cursor cannot be combined with other parameters"));
    return readCursor(cursor);
  }
  const pageSize = Number(search.get("pageSize") ?? "100");
  if (!Number.isInteger(pageSize) || pageSize < 10 || pageSize > 1000) {
    throw new WireError(schemaError("pageSize", "pageSize must be between 10 and 1000"));
  }
  const currency = search.get("currency");
  if (currency !== null && currency !== "USD" && currency !== "DIEM") {
    throw new WireError(schemaError("currency", "Invalid enum value"));
  }
  const fromMs = timeOf(search, "startTimestamp", 0);
  return { fromMs, toMs: timeOf(search, "endTimestamp", Number.MAX_SAFE_INTEGER), currency, pageSize, next: 0 };
}

function timeOf(search: URLSearchParams, name: string, fallback: number): number {
  const text = search.get(name);
  const time = text === null ? fallback : /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(time)) throw new WireError(schemaError(name, "Invalid date"));
  return time;
}

function readCursor(cursor: string): Query {
  try {
    const { fromMs, toMs, currency, pageSize, next } = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return { fromMs: Number(fromMs), toMs: Number(toMs), currency, pageSize: Number(pageSize), next: Number(next) };
  } catch {
    throw new WireError(plainError(400, "Invalid cursor"));
  }
}

interface Row {
  readonly json: string;
  readonly csv: string;
}

function page(sim: Simulator, query: Query): { rows: Row[]; next: number | null } {
  const { history } = sim.ledger;
  const visibleUntil = sim.now() - sim.settings.historyDelayMs;
  const rows: Row[] = [];
  for (let i = Math.max(query.next, history.first); i < history.next; i++) {
    const charge = history.at(i);
    if (charge === null || charge.timeMs > visibleUntil) continue;
    if (charge.timeMs < query.fromMs || charge.timeMs > query.toMs) continue;
    if (rows.length >= query.pageSize) return { rows, next: i };
    rows.push(...rowsOf(charge, query.currency));
  }
  return { rows, next: null };
}

/** DIEM pays from the first line on, USD the rest: the line where it runs out becomes two rows. */
function rowsOf(charge: BilledCharge, currency: string | null): Row[] {
  const rows: Row[] = [];
  let diem = charge.diemAtto;
  for (const line of charge.lines) {
    const byDiem = smaller(line.atto, diem);
    diem -= byDiem;
    if (byDiem > 0n && currency !== "USD") rows.push(rowOf(charge, line, byDiem, "DIEM"));
    if ((line.atto > byDiem || line.atto === 0n) && currency !== "DIEM") {
      rows.push(rowOf(charge, line, line.atto - byDiem, "USD"));
    }
  }
  return rows;
}

function rowOf(charge: BilledCharge, line: ChargeLine, atto: bigint, currency: string): Row {
  const timestamp = new Date(charge.timeMs).toISOString();
  const units = usdFromAtto((BigInt(line.units) * 10n ** 18n) / BigInt(line.per));
  const amount = usdFromAtto(-atto);
  const details = {
    requestId: charge.requestId,
    promptTokens: charge.tokens?.prompt ?? null,
    completionTokens: charge.tokens?.completion ?? null,
    inferenceExecutionTime: charge.executionMs,
  };
  const fields = [
    `"timestamp":"${timestamp}","sku":"${line.sku}","units":${units},"pricePerUnitUsd":${line.price}`,
    `"amount":${amount},"currency":"${currency}","notes":"API Inference"`,
    `"inferenceDetails":${JSON.stringify(details)}`,
  ];
  const csv = [timestamp, line.sku, units, line.price, amount, currency, "API Inference", charge.requestId].join(",");
  return { json: `{${fields.join(",")}}`, csv };
}
