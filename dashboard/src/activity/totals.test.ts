import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { ActivityTotal } from "@inference/sdk/spending";
import { by, byDay, daysLeft } from "./totals.ts";

const of = (date: string, model: string, nano: number): ActivityTotal => ({
  ...{ date, model, key_id: "k", requests: 1, usage: nano / 1e9, usage_nano_usd: nano },
  ...{ prompt_tokens: 1, completion_tokens: 1 },
});
const totals = [of("2026-11-20", "a", 5), of("2026-11-20", "b", 7), of("2026-11-22", "a", 4)];

test("totals are added up by name, the largest first", () => {
  deepEqual(
    by(totals, ({ model }) => model ?? ""),
    [
      { name: "a", nanoUsd: 9, requests: 2 },
      { name: "b", nanoUsd: 7, requests: 1 },
    ],
  );
});

test("days without spending are listed", () => {
  const days = byDay(totals, 4, Date.parse("2026-11-23T12:00:00Z"));
  deepEqual(
    days.map(({ name, nanoUsd }) => [name, nanoUsd]),
    [
      ["2026-11-20", 12],
      ["2026-11-21", 0],
      ["2026-11-22", 4],
      ["2026-11-23", 0],
    ],
  );
});

test("every total is in a day, whatever day this clock has: the sums by day and by model are the same", () => {
  for (const now of ["2026-11-19T23:59:59Z", "2026-11-23T00:00:00Z", "2027-01-01T12:00:00Z"]) {
    const days = byDay(totals, 4, Date.parse(now));
    const sum = days.reduce((all, { nanoUsd }) => all + nanoUsd, 0);
    equal(sum, 16, now);
    equal(new Set(days.map(({ name }) => name)).size, days.length);
  }
});

test("the balance lasts for a number of days at the average of the last seven", () => {
  const days = byDay(totals, 30, Date.parse("2026-11-23T12:00:00Z"));
  equal(daysLeft(days, 16), 7);
  equal(daysLeft(days, 6), 2);
  equal(daysLeft([], 6), null);
});
