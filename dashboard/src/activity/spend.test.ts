import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { stackOf } from "../parts/stack.ts";
import { daysLeft, grouped, homeDays, rangeOf, rowsIn, rowsOfReceipts, type SpendRow, sumOf } from "./spend.ts";

const NOW = "2026-11-24T14:32:00.000Z";
const row = (bar: string, nanoUsd: number, more: Partial<SpendRow> = {}): SpendRow => ({
  ...{ bar, nanoUsd, requests: 1, model: "m", keyId: "k", tag: null },
  ...more,
});
const rows = [row("2026-11-24", 5), row("2026-11-23", 7, { model: null }), row("2026-10-26", 11, { keyId: null })];

test("a range ends today by the gateway's clock, and every day of it has a bar", () => {
  const none = { from: "", to: "" };
  const { from, to, bars } = rangeOf("30d", NOW, none);
  deepEqual([from, to, bars.length, bars.at(-1)?.title], ["2026-10-26", "2026-11-24", 30, "Tue 24 Nov"]);
  equal(rangeOf("7d", NOW, none).from, "2026-11-18");
  const hours = rangeOf("24h", NOW, none);
  deepEqual([hours.from, hours.to, hours.by], ["2026-11-23", "2026-11-24", "hour"]);
  deepEqual([hours.bars[0]?.id, hours.bars.at(-1)?.id], ["2026-11-23T15", "2026-11-24T14"]);
  const day = rangeOf("custom", NOW, { from: "2026-02-28", to: "2026-02-28" });
  deepEqual([day.by, day.bars[0]?.id, day.to], ["hour", "2026-02-28T00", "2026-02-28"]);
  equal(rangeOf("custom", NOW, { from: "2026-02-28", to: "2026-03-01" }).bars.length, 2);
  deepEqual(homeDays("2026-01-31T00:00:00Z"), { from: "2026-01-01", to: "2026-01-31" });
});

test("all sums of a screen are those of its rows, whatever they are grouped by", () => {
  const range = rangeOf("30d", NOW, { from: "", to: "" });
  const shown = rowsIn([...rows, row("2026-10-25", 99)], range);
  equal(sumOf(shown).nanoUsd, 23);
  for (const by of ["model", "key", "tag"] as const) {
    equal(
      stackOf(
        grouped(shown, by, (id) => id ?? "session"),
        range.bars,
      ).nanoUsd,
      23,
    );
  }
  deepEqual(sumOf(rowsIn(rows, range, { key_id: "k" })), { nanoUsd: 12, requests: 2 });
  deepEqual(sumOf(rowsIn(rows, range, { key_id: "k", model: "m" })), { nanoUsd: 5, requests: 1 });
});

test("a receipt counts in the hour of its request", () => {
  const receipt = { created_at: "2026-11-24T13:59:59.999Z", model: "m", key_id: "k", tag: null, charge_nano_usd: 3 };
  deepEqual(rowsOfReceipts([receipt as never])[0]?.bar, "2026-11-24T13");
});

test("the balance lasts at the pace of seven complete days", () => {
  equal(daysLeft([row("2026-11-24", 1_000), row("2026-11-17", 70), row("2026-11-16", 9)], NOW, 105), 10);
  equal(daysLeft([row("2026-11-24", 1_000)], NOW, 105), null);
});
