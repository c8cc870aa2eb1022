import type { KeyTermTexts } from "@inference/protocol/key-message";
import { parseDecimal } from "@inference/protocol/money";
import type { LimitReset } from "@inference/protocol/window";
import type { ReactNode } from "react";

/** The window of a key's limit; `none`: the key has no limit. */
export type LimitWindow = LimitReset | "lifetime" | "none";

export const windowWords: Record<LimitReset | "lifetime", string> = {
  daily: "a day",
  monthly: "a month",
  lifetime: "lifetime",
};

/** `Key codex: at most $3.00 a month, until 22 Feb 2027`. */
export function keySentence({ name, limit, limit_reset: reset, expires_at: end }: KeyTermTexts): string {
  const most =
    limit === undefined ? "your whole balance" : `at most $${dollars(limit)} ${windowWords[reset ?? "lifetime"]}`;
  const until = end === undefined ? "no expiry" : `until ${END.format(new Date(end))}`;
  return `Key ${name ?? "without a name"}: ${most}, ${until}`;
}

const END = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** The amount with at least two decimals, or `…` for a text that is no amount. */
function dollars(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  return parseDecimal(text, 9) === undefined ? "…" : `${whole}.${fraction.padEnd(2, "0")}`;
}

/** The signed term for a window. */
export function resetTerm(window: LimitWindow): { limit_reset?: LimitReset } {
  return window === "lifetime" || window === "none" ? {} : { limit_reset: window };
}

/** The choices of a window. */
export const WINDOWS: readonly (readonly [LimitWindow, string])[] = [
  ["daily", "a day"],
  ["monthly", "a month"],
  ["lifetime", "lifetime"],
  ["none", "No limit"],
];

/** The options of a `select`. */
export function LimitWindows(): ReactNode {
  return WINDOWS.map(([window, words]) => (
    <option key={window} value={window}>
      {words}
    </option>
  ));
}
