import type { Charge } from "./billing.ts";
import { usdFromAtto } from "./decimal.ts";
import { schemaError, WireError } from "./errors.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { dayName } from "./keys.ts";

/** `GET /billing/allowance?day=YYYY-MM-DD` (default: today): each key's spend on that UTC day. Not the provider's own. */
export function allowance(x: Exchange): void {
  const { ledger, keys, now } = x.sim;
  const day = x.query.get("day") ?? dayName(now());
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new WireError(schemaError("day", "Invalid date"));
  const rows = [...ledger.takenOn(day)].map(([keyId, { diemAtto, usdAtto }]) => {
    const description = keys.find(keyId)?.description ?? null;
    return { keyId, description, allowanceAttoUsd: String(diemAtto), balanceAttoUsd: String(usdAtto) };
  });
  sendJson(x, JSON.stringify({ day, data: rows }));
}

/**
 * `GET /billing/usage-history`: a row for each line of each charge, oldest first. A page ends between two charges, so it
 * may be a few rows longer than its size. A continuation sends `cursor`, and nothing else.
 */
export function usageHistory(x: Exchange): void {
  const walk = walkOf(x.query);
  const visibleUntil = x.sim.now() - x.sim.settings.historyDelayMs;
  const { history } = x.sim.ledger;
  const rows: string[] = [];
  let next = walk.index;
  for (; next < history.length; next++) {
    const charge = history[next];
    if (charge === undefined || charge.timeMs < walk.fromMs || charge.timeMs >= walk.untilMs) continue;
    if (charge.timeMs > visibleUntil) continue;
    if (rows.length >= walk.pageSize) break;
    rows.push(...rowsOf(charge));
  }
  const cursor = next === history.length ? null : cursorOf({ ...walk, index: next });
  sendJson(x, `{"data":[${rows.join(",")}],"nextCursor":${JSON.stringify(cursor)}}`);
}

interface Walk {
  readonly pageSize: number;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The place in the history at which the page begins. */
  readonly index: number;
}

function cursorOf({ pageSize, fromMs, untilMs, index }: Walk): string {
  return Buffer.from([pageSize, fromMs, untilMs, index].join(" ")).toString("base64url");
}

function walkOf(query: URLSearchParams): Walk {
  const cursor = query.get("cursor");
  if (cursor !== null) {
    const [pageSize = 0, fromMs = 0, untilMs = 0, index] = Buffer.from(cursor, "base64url")
      .toString()
      .split(" ")
      .map(Number);
    if (query.size > 1 || index === undefined) throw new WireError(schemaError("cursor", "Invalid cursor"));
    return { pageSize, fromMs, untilMs, index };
  }
  const pageSize = Number(query.get("pageSize") ?? "1000");
  if (!Number.isInteger(pageSize) || pageSize < 10 || pageSize > 1000) {
    throw new WireError(schemaError("pageSize", "pageSize must be between 10 and 1000"));
  }
  const fromMs = timeOf(query, "startTimestamp", 0);
  const untilMs = timeOf(query, "endTimestamp", Number.MAX_SAFE_INTEGER);
  if (untilMs <= fromMs) throw new WireError(schemaError("endTimestamp", "Must be later than startTimestamp"));
  return { pageSize, fromMs, untilMs, index: 0 };
}

function timeOf(query: URLSearchParams, name: string, usual: number): number {
  const text = query.get(name);
  if (text === null) return usual;
  const timeMs = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(timeMs)) throw new WireError(schemaError(name, "Invalid date"));
  return timeMs;
}

/** Amounts are written digit by digit, without a float. */
function rowsOf({ timeMs, requestId, tokens, lines }: Charge): string[] {
  const timestamp = new Date(timeMs).toISOString();
  const details = { requestId, promptTokens: tokens?.prompt ?? null, completionTokens: tokens?.completion ?? null };
  return lines.map(({ sku, units, per, price, atto }) => {
    const counted = usdFromAtto((BigInt(units) * 10n ** 18n) / BigInt(per));
    const charged = `"units":${counted},"pricePerUnitUsd":${price},"amount":${usdFromAtto(-atto)}`;
    return `{"timestamp":"${timestamp}","sku":"${sku}",${charged},"inferenceDetails":${JSON.stringify(details)}}`;
  });
}
