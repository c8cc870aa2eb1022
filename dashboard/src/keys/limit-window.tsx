import { type LimitReset, limitResets } from "@inference/protocol/window";
import type { ReactNode } from "react";

/** The window of a key's limit; `none`: the key has no limit. */
export type LimitWindow = LimitReset | "lifetime" | "none";

export const windowWords: Record<LimitReset | "lifetime", string> = {
  daily: "a day",
  monthly: "a month",
  lifetime: "in total",
};

/** The signed term for a window. */
export function resetTerm(window: LimitWindow): { limit_reset?: LimitReset } {
  return window === "lifetime" || window === "none" ? {} : { limit_reset: window };
}

/** The options of a `select`. */
export function LimitWindows(): ReactNode {
  return (
    <>
      {([...limitResets, "lifetime"] as const).map((window) => (
        <option key={window} value={window}>
          {windowWords[window]}
        </option>
      ))}
      <option value="none">none: the whole balance</option>
    </>
  );
}
