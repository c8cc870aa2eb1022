import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const page = readFileSync(new URL("../../../../docs/decisions/0061-what-cloudflare-costs.md", import.meta.url), "utf8");
const { cost } = JSON.parse(readFileSync(new URL("../../results/cloudflare.json", import.meta.url), "utf8")) as {
  cost: { readings: { scenario: string; perRequest: Record<string, number> }[] };
};

const cells = (line: string): string[] =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

test("the decision on cost has what the last whole run counted", () => {
  const lines = page.slice(page.indexOf("| | 1 account, 32 at once |")).split("\n\n", 1)[0]?.split("\n") ?? [];
  const [[, ...columns] = [], ...rows] = lines.map(cells);
  assert.equal(columns.length, cost.readings.length);
  for (const [name, unit, digits] of [
    ["Worker requests", "workerRequests", 0],
    ["object requests", "objectRequests", 1],
    ["rows written", "rowsWritten", 1],
    ["rows read, about", "rowsRead", 0],
  ] as const) {
    const counted = columns.map((column) => {
      const reading = cost.readings.find(({ scenario }) => scenario.replace(" (each cold)", "") === column);
      return Number(reading?.perRequest[unit]?.toFixed(digits));
    });
    const [, ...told] = rows.find(([first]) => first === name) ?? [];
    assert.deepEqual(told.map(Number), counted, name);
  }
});
