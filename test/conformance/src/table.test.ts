import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Client } from "./clients/client.ts";
import { clients, otherClients } from "./clients/clients.ts";
import { answerRows, type Row, rows } from "./rows.ts";

/** The README's tables say what `clients.test.ts` runs. */
const columns = clients.map(({ client }) => client);
const cells = rows.flatMap((row) => columns.map((client) => ({ row: row.name, reason: client.cannot[row.name] })));

test("the README's tables are those that are tested", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, shown, , others] = readme.split(/<!-- \/?table -->\n/);
  assert.equal(shown?.trim(), table(rows, columns));
  const otherColumns = otherClients.map(({ client }) => client);
  assert.equal(others?.trim(), table(answerRows, otherColumns));
});

test("a client that cannot do something says so of a row that there is", () => {
  const names = rows.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, cannot } of columns)
    for (const row of Object.keys(cannot)) assert.ok(names.includes(row), `${name}: ${row}`);
});

test("at most one cell in ten is empty", () => {
  const empty = cells.filter(({ reason }) => reason !== undefined).length;
  assert.ok(empty * 10 <= cells.length, `${empty} of ${cells.length}`);
});

function table(rows: readonly Row[], columns: readonly Client[]): string {
  const cells = rows.flatMap((row) => columns.map((client) => ({ reason: client.cannot[row.name] })));
  const reasons = [...new Set(cells.flatMap(({ reason }) => reason ?? []))];
  const lines = rows.map((row) => {
    const marks = columns.map(({ cannot }) => {
      const reason = cannot[row.name];
      return reason === undefined ? "✓" : `(${reasons.indexOf(reason) + 1})`;
    });
    return `| ${[row.name, ...marks].join(" | ")} |`;
  });
  return [
    `| | ${columns.map(({ name }) => name).join(" | ")} |`,
    `|---|${columns.map(() => ":-:|").join("")}`,
    ...lines,
    ...(reasons.length === 0 ? [] : ["", ...reasons.map((reason, index) => `${index + 1}. ${reason}`)]),
  ].join("\n");
}
