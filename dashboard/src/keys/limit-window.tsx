import type { ReactNode } from "react";

/** The window of a key's limit. */
export type LimitWindow = "daily" | "monthly" | "lifetime" | "none";

/** The options of a `select`. */
export function LimitWindows(): ReactNode {
  return (
    <>
      <option value="daily">a day</option>
      <option value="monthly">a month</option>
      <option value="lifetime">in all</option>
      <option value="none">none: the whole balance</option>
    </>
  );
}
