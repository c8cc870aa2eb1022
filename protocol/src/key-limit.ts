import type { DollarWindow } from "./window.ts";

/** A limit of a key: the most of a unit, an integer, in each window. A key has at most one of a unit and window. */
export type KeyLimit = (
  | { unit: "nano_usd"; window: DollarWindow }
  | { unit: "requests" | "tokens"; window: "minute" }
) & {
  most: number;
};
export type LimitUnit = KeyLimit["unit"];

/** The limits that a key can have, by the names that signed messages and the API give them. */
export const keyLimitKinds = {
  limit_daily: { unit: "nano_usd", window: "day" },
  limit_monthly: { unit: "nano_usd", window: "month" },
  limit_lifetime: { unit: "nano_usd", window: "lifetime" },
  requests_per_minute: { unit: "requests", window: "minute" },
  tokens_per_minute: { unit: "tokens", window: "minute" },
} as const satisfies Record<string, Omit<KeyLimit, "most">>;

export type KeyLimitName = keyof typeof keyLimitKinds;
export const keyLimitNames = Object.keys(keyLimitKinds) as KeyLimitName[];

export function makeKeyLimit(name: KeyLimitName, most: number): KeyLimit {
  return { ...keyLimitKinds[name], most };
}

export function keyLimitName({ unit, window }: KeyLimit): KeyLimitName {
  if (unit !== "nano_usd") return `${unit}_per_minute`;
  return ({ day: "limit_daily", month: "limit_monthly", lifetime: "limit_lifetime" } as const)[window];
}
