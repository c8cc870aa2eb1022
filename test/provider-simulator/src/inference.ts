import {
  DIEM_LIMIT_EXCEEDED,
  errorBudgetSpent,
  INSUFFICIENT_BALANCE,
  RATE_LIMITED,
  USD_LIMIT_EXCEEDED,
  WireError,
} from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import type { Body } from "./validate.ts";

/** What every paid request passes after it was authenticated and parsed, and before its own checks. */
export function admit(x: Exchange, body: Body): void {
  const { sim, key } = x;
  const model = typeof body.model === "string" ? body.model.slice(0, 200) : "";
  const user = typeof body.user === "string" ? body.user.slice(0, 200) : "";
  x.record.model = model;
  x.record.user = user === "" ? null : user;
  x.model = model;
  const { errorBudget, errorBudgetOf, requestsPerMinute } = sim.settings;
  if (errorBudget !== null) {
    x.bucket = errorBudgetOf === "key" ? `${key?.id}` : `${key?.id}|${model}|${user}`;
    if (sim.limits.lockedUntil(x.bucket) !== null) throw new WireError(errorBudgetSpent(errorBudget));
  }
  if (requestsPerMinute !== null && !sim.limits.admit(model, requestsPerMinute)) throw new WireError(RATE_LIMITED);
  if (!sim.ledger.canConsume()) throw new WireError(INSUFFICIENT_BALANCE);
  const exhausted = key === null ? null : sim.keys.exhausted(key);
  if (exhausted === "usd") throw new WireError(USD_LIMIT_EXCEEDED);
  if (exhausted === "diem") throw new WireError(DIEM_LIMIT_EXCEEDED);
}
