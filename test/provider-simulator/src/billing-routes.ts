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
 * may be a few rows longer than its size. `nextCursor` says whether there is another page; it cannot be followed.
 */
export function usageHistory(x: Exchange): void {
  const pageSize = Number(x.query.get("pageSize") ?? "100");
  if (!Number.isInteger(pageSize) || pageSize < 10 || pageSize > 1000) {
    throw new WireError(schemaError("pageSize", "pageSize must be between 10 and 1000"));
  }
  const from = x.query.get("startTimestamp") ?? "0";
  const fromMs = /^\d+$/.test(from) ? Number(from) : Date.parse(from);
  if (Number.isNaN(fromMs)) throw new WireError(schemaError("startTimestamp", "Invalid date"));
  const visibleUntil = x.sim.now() - x.sim.settings.historyDelayMs;
  const rows: string[] = [];
  let cursor: string | null = null;
  for (const charge of x.sim.ledger.history) {
    if (charge.timeMs < fromMs || charge.timeMs > visibleUntil) continue;
    if (rows.length >= pageSize) {
      cursor = charge.requestId;
      break;
    }
    rows.push(...rowsOf(charge));
  }
  sendJson(x, `{"data":[${rows.join(",")}],"nextCursor":${JSON.stringify(cursor)}}`);
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
