import { formatUsd } from "@inference/protocol/money";
import type { LimitReset } from "@inference/protocol/window";
import type { ApiKey, KeyTerms } from "./keys.ts";

/** @param limit In nano-dollars. */
export type DollarLimit = { limit: number; window: LimitReset | "lifetime" };

/** The limits in dollars of a key, its first one first. */
export function dollarLimits({ limits }: ApiKey): DollarLimit[] {
  const inDollars = limits.filter(({ unit }) => unit === "nano_usd");
  return inDollars.map(({ name, limit }) => ({ limit, window: name.replace("limit_", "") as DollarLimit["window"] }));
}

/**
 * The terms that change one limit in dollars, and repeat the others, because those that are not named end. The changed
 * one takes the place of another one with its window.
 *
 * @param of The limit to change; undefined: another one is added.
 * @param window Its window from now on; `none`: it ends.
 */
export function changedTerms(
  limits: readonly DollarLimit[],
  of: DollarLimit | undefined,
  window: DollarLimit["window"] | "none",
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
