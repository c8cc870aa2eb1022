import { deepEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gasRows } from "./gas-table.ts";

test("every figure in the README's table is in the snapshots", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, table = ""] = /^\| operation .*\n\|[-:| ]+\|\n((?:\|.*\n)+)/m.exec(readme) ?? [];
  const rows = table.trimEnd().split("\n");
  deepEqual(
    rows.map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ),
    gasRows(),
  );
});
