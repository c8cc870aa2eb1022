import { formatUsd } from "@inference/protocol/money";
import type { ApiKey, KeyTerms } from "@inference/sdk/keys";
import type { LimitWindow } from "./limit-window.tsx";

export type DollarLimit = { limit: number; window: Exclude<LimitWindow, "none"> };

/** The limits in dollars of a key, its first one first. */
export function dollarLimits({ limits }: ApiKey): DollarLimit[] {
  const inDollars = limits.filter(({ unit }) => unit === "nano_usd");
  return inDollars.map(({ name, limit }) => ({ limit, window: name.replace("limit_", "") as DollarLimit["window"] }));
}

/** The terms that change one limit in dollars, and repeat the others, because those that are not named end. */
export function changedTerms(
  limits: readonly DollarLimit[],
  of: DollarLimit | undefined,
  window: LimitWindow,
  dollars: string,
): KeyTerms {
  const changed = window === "none" ? [] : [{ window, dollars }];
  const all = limits.flatMap((one) => {
    if (one === of) return changed;
    return one.window === window ? [] : [{ window: one.window, dollars: formatUsd(one.limit) }];
  });
  const [first, ...others] = of === undefined ? [...all, ...changed] : all;
  if (first === undefined) return { limit: "none" };
  return {
    ...{ limit: first.dollars, ...(first.window === "lifetime" ? {} : { limit_reset: first.window }) },
    ...Object.fromEntries(others.map((other) => [`limit_${other.window}`, other.dollars])),
  };
}
