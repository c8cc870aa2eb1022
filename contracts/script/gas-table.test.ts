import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("what the README's table says that ours costs is in the snapshots", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| ([^|]+?) +\| +([\d,]+) \|/gm)];
  ok(rows.length > 10);
  const snapshots = new URL("../snapshots/", import.meta.url);
  const measured = new Set(
    readdirSync(snapshots)
      .filter((file) => file.endsWith(".json") && file !== "Anchors.json")
      .flatMap((file) => Object.values(JSON.parse(readFileSync(new URL(file, snapshots), "utf8"))))
      .map(Number),
  );
  const stale = rows.filter(([, , gas = ""]) => !measured.has(Number(gas.replaceAll(",", ""))));
  deepEqual(
    stale.map(([, operation]) => operation),
    [],
  );
});
