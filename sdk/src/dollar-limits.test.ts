import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { changedTerms } from "./dollar-limits.ts";

const day = { window: "daily", limit: 5e9 } as const;
const month = { window: "monthly", limit: 20e9 } as const;
const ever = { window: "lifetime", limit: 99e9 } as const;

test("a change of one limit in dollars repeats the others, and moves none of them", () => {
  const all = [day, month, ever];
  for (const [of, window, terms] of [
    [day, "daily", { limit: "7", limit_reset: "daily", limit_monthly: "20", limit_lifetime: "99" }],
    [month, "monthly", { limit: "5", limit_reset: "daily", limit_monthly: "7", limit_lifetime: "99" }],
    [month, "none", { limit: "5", limit_reset: "daily", limit_lifetime: "99" }],
    [day, "none", { limit: "20", limit_reset: "monthly", limit_lifetime: "99" }],
    // A window has one limit: the changed one takes the other's place.
    [ever, "daily", { limit: "20", limit_reset: "monthly", limit_daily: "7" }],
  ] as const) {
    deepEqual(changedTerms(all, of, window, "7"), terms, `${of.window} to ${window}`);
  }
  deepEqual(changedTerms([month], month, "lifetime", "7"), { limit: "7" });
  deepEqual(changedTerms([month], month, "none", "7"), { limit: "none" });
  // The limit ended elsewhere while the form was open.
  deepEqual(changedTerms([day], undefined, "monthly", "7"), { limit: "5", limit_reset: "daily", limit_monthly: "7" });
  deepEqual(changedTerms([], undefined, "monthly", "7"), { limit: "7", limit_reset: "monthly" });
});
