import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { columnsOf, tableNames } from "./schema.ts";
import { assertStorable } from "./storable.ts";
import type { Row } from "./tables.ts";

for (const table of tableNames) {
  test(`${table}: a row is storable with good values, and with no wrong one`, () => {
    const columns = columnsOf(table);
    const good = Object.fromEntries(columns.map(({ property, kind }) => [property, sample(kind)]));
    const check = (property: string, value: unknown) => () =>
      assertStorable(table, { ...good, id: "id", [property]: value } as unknown as Row);
    check("id", "id")();
    assert.throws(check("id", "\ud800"), /an id cannot be stored/);
    for (const { property, kind } of columns) {
      const base = kind.replace("?", "");
      const isNumber = base === "amount" || base === "integer";
      const wrong: unknown[] = isNumber ? [...numbersThatAreNone] : [0, 7n, undefined, true];
      if (base === "amount") wrong.push(MAX_NANO_USD + 1);
      if (base.startsWith("one of ")) wrong.push("", "OPEN", "other");
      for (const value of wrong) assert.throws(check(property, value), /cannot be stored/, `${property}: ${value}`);
      if (isNumber) check(property, base === "amount" ? MAX_NANO_USD : Number.MAX_SAFE_INTEGER)();
      if (kind.endsWith("?")) check(property, null)();
      else assert.throws(check(property, null), /cannot be stored/, `${property}: null`);
    }
  });
}

const numbersThatAreNone = [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 2 ** 53, 1e300, 5n, "7", true, undefined];

function sample(kind: string): unknown {
  if (kind.startsWith("one of ")) return kind.split(" ")[2];
  return /^(amount|integer)/.test(kind) ? 0 : "text";
}
