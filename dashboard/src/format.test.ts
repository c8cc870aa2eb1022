import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { partsOfUsd, placesOf, roughUsd, usd, when } from "./format.ts";

test("an amount is exact, and its two parts are the whole of it", () => {
  const amounts = [8_000_000_000, 7_999_983_000, 17_000, 9_999_999, 10_000_000, 14_192_318_830, -4_991_000_001, 0, 1];
  for (const nano of amounts) equal(partsOfUsd(nano).join(""), usd(nano));
  deepEqual(
    amounts.map((nano) => partsOfUsd(nano)),
    [
      ["$8.00", ""],
      ["$7.99", "9983"],
      ["$0.000017", ""],
      ["$0.009999999", ""],
      ["$0.01", ""],
      ["$14.19", "231883"],
      ["-$4.99", "1000001"],
      ["$0.00", ""],
      ["$0.000000001", ""],
    ],
  );
});

test("the amounts of a column have the decimals that one of them needs", () => {
  const column = [687_600, 37_733_000, 0];
  const places = placesOf(column);
  deepEqual(
    column.map((nano) => partsOfUsd(nano, places).join("")),
    ["$0.0006876", "$0.0377330", "$0.0000000"],
  );
});

test("an estimate is to the cent, and below a cent has two digits", () => {
  const amounts = [4_996_000_000, 19_999_999, 9_999_999, 19_999, 1_995, 9, 0, 1_234_567_890_000];
  deepEqual(amounts.map(roughUsd), [
    "$5.00",
    "$0.02",
    "$0.01",
    "$0.00002",
    "$0.000002",
    "$0.000000009",
    "$0.00",
    "$1,234.57",
  ]);
});

test("a time is in UTC: today to the second, earlier with its day, long ago with its year", () => {
  const now = Date.parse("2026-11-24T14:32:00Z");
  deepEqual(
    ["2026-11-24T14:31:02Z", "2026-11-17T09:12:00Z", "2025-11-17T23:59:59Z"].map((time) => when(time, now)),
    ["14:31:02", "17 Nov, 09:12", "17 Nov 2025, 23:59"],
  );
});
