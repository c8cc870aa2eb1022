import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { openDatabase } from "./database.ts";
import { openKeyValue } from "./key-value.ts";

const folder = mkdtempSync(join(tmpdir(), "key-value-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

function open(file = join(folder, `${++files}.sqlite`)) {
  const clock = { now: 1_000_000 };
  const store = openKeyValue(file, () => clock.now);
  const count = new DatabaseSync(file, { readOnly: true }).prepare("SELECT COUNT(*) AS count FROM key_value");
  return { store, clock, rows: () => Number(count.get()?.count) };
}

test("a put waits for no commit of the ledger's, and is there at the next start", async () => {
  const file = join(folder, "gateway.sqlite");
  const ledger = openDatabase(file);
  ledger.exec("BEGIN EXCLUSIVE");
  const first = open(`${file}-kv`);
  await first.store.put("a", "1");
  first.store.close();
  assert.equal(await open(`${file}-kv`).store.get("a"), "1");
  ledger.close();
});

test("a value is returned, replaced by the next put, and gone when deleted", async () => {
  const { store } = open();
  assert.equal(await store.get("a"), null);
  await store.put("a", "1");
  await store.put("b", "");
  assert.equal(await store.get("a"), "1");
  assert.equal(await store.get("b"), "", "an empty value is a value");
  await store.put("a", "2");
  assert.equal(await store.get("a"), "2");
  await store.delete("a");
  await store.delete("a");
  assert.equal(await store.get("a"), null);
});

test("a value is gone at its time, not before, and a put without a time stays", async () => {
  const { store, clock } = open();
  await store.put("a", "1", { expiresAt: clock.now + 10 });
  clock.now += 9;
  assert.equal(await store.get("a"), "1");
  clock.now += 1;
  assert.equal(await store.get("a"), null);
  await store.put("a", "2", { expiresAt: clock.now + 10 });
  await store.put("a", "3");
  clock.now += 1_000_000;
  assert.equal(await store.get("a"), "3");
});

test("expired values leave the file", async () => {
  const { store, clock, rows } = open();
  await store.put("stays", "1");
  for (let session = 0; session < 10_000; session++) {
    clock.now += 10_000;
    await store.put(`session:${session}`, "x", { expiresAt: clock.now + 3_600_000 });
  }
  // An hour's worth of live ones, and nothing else.
  assert.ok(rows() <= 1 + 361, `${rows()} rows`);
  assert.equal(await store.get("stays"), "1");
  assert.equal(await store.get("session:9999"), "x");
});

test("keys are listed by what they begin with, in their order, without those that are over", async () => {
  const { store, clock } = open();
  for (const key of ["offer:b", "offer:a", "offer:c", "offes", "offer", "session:offer:"]) await store.put(key, "1");
  await store.put("offer:0", "1", { expiresAt: clock.now + 10 });
  assert.deepEqual(await store.list("offer:", 9), ["offer:0", "offer:a", "offer:b", "offer:c"]);
  assert.deepEqual(await store.list("offer:", 2), ["offer:0", "offer:a"]);
  assert.deepEqual(await store.list("offer:", 2, "offer:a"), ["offer:b", "offer:c"]);
  assert.deepEqual(await store.list("offer:", 2, "offer:c"), []);
  clock.now += 10;
  assert.deepEqual(await store.list("offer:", 2), ["offer:a", "offer:b"]);
});
