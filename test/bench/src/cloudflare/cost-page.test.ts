import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { CostReading } from "./cost-bench.ts";
import { type Unit, usdPerMillion } from "./prices.ts";

const page = readFileSync(new URL("../../../../docs/deploying-cloudflare.md", import.meta.url), "utf8");
const { cost, costBefore } = JSON.parse(
  readFileSync(new URL("../../results/cloudflare.json", import.meta.url), "utf8"),
) as Record<"cost" | "costBefore", { readings: CostReading[] }>;

/** Stored for 401 days, deleted, and copied to R2: `docs/decisions/0061-what-cloudflare-costs.md` reckons it. */
const LATER_USD = 0.6;
const TIME: readonly Unit[] = ["cpuMs", "objectGbSeconds"];
const COUNTED = (Object.keys(usdPerMillion) as Unit[]).filter((unit) => !TIME.includes(unit));

function usdOf({ perRequest }: CostReading, units: readonly Unit[]): number {
  return units.reduce((usd, unit) => usd + perRequest[unit] * usdPerMillion[unit], 0);
}

const cells = (line: string): string[] =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

test("the page on deploying has what the last whole run counted, before and after", () => {
  const [, , ...lines] = page.slice(page.indexOf("| an account's requests |")).split("\n\n", 1)[0]?.split("\n") ?? [];
  const counted = cost.readings.map((reading) => {
    const { scenario, perRequest } = reading;
    const before = costBefore.readings.find((other) => other.scenario === scenario);
    assert.ok(before);
    const usd = usdOf(reading, COUNTED);
    const time = usdOf(reading, TIME);
    const pair = (unit: Unit) => `${before.perRequest[unit].toFixed(1)}, ${perRequest[unit].toFixed(1)}`;
    const beforeUsd = usdOf(before, COUNTED).toFixed(1);
    return [
      ...[scenario, pair("objectRequests"), pair("rowsWritten"), `${beforeUsd}, ${usd.toFixed(1)}`],
      ...[time.toFixed(1), (usd + time + LATER_USD).toFixed(1)],
    ];
  });
  assert.deepEqual(
    lines.map((line) => cells(line).slice(0, 6)),
    counted,
  );
});
