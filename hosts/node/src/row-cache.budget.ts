import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { prepareCommit } from "./commit.ts";
import { openDatabase } from "./database.ts";
import { openRowCache } from "./row-cache.ts";
import { keyChange as key } from "./testing/key-change.ts";

test("20,000 revoked keys of an account cost the list of its keys no more than none", () => {
  const folder = mkdtempSync(join(tmpdir(), "row-cache-"));
  const database = openDatabase(join(folder, "rows.sqlite"), "NORMAL");
  const cache = openRowCache(database);
  const write = prepareCommit(database);
  const commit = (): void => {
    write(cache.take());
    cache.committed();
  };
  cache.write("account:few", [key("live", null)]);
  cache.write("account:many", [key("live", null), ...Array.from({ length: 20_000 }, (_, n) => key(`k${n}`, null))]);
  commit();
  cache.write(
    "account:many",
    Array.from({ length: 20_000 }, (_, n) => key(`k${n}`, 1)),
  );
  commit();
  /** The middle of 21 times. */
  const listMs = (name: "account:few" | "account:many"): number => {
    const times = Array.from({ length: 21 }, () => {
      const before = process.threadCpuUsage();
      assert.equal(cache.partition(name).liveKeys().length, 1);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    });
    return times.sort((one, other) => one - other)[10] ?? Number.NaN;
  };
  const few = listMs("account:few");
  const many = listMs("account:many");
  assert.ok(many < 10 * few + 0.1, `${many} ms, and ${few} ms without any`);
  database.close();
  rmSync(folder, { recursive: true });
});
