import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeyRecord, makeKeyRecordStore } from "./key-record-store.ts";

/** A store that writes when the test says so. */
function makeSlowStore() {
  const values = new Map<string, string>();
  const puts: { finish(error?: Error): void; record: KeyRecord }[] = [];
  const alerts: string[] = [];
  const store = makeKeyRecordStore({
    keyValue: {
      get: async (name) => values.get(name) ?? null,
      list: async () => [],
      put(name, value) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const finish = (error?: Error) => {
          if (error !== undefined) return reject(error);
          values.set(name, value);
          resolve();
        };
        puts.push({ finish, record: JSON.parse(value) as KeyRecord });
        return promise;
      },
      delete: async () => undefined,
    },
    log: (level, event) => {
      if (level === "alert") alerts.push(event);
    },
    background: () => undefined,
  });
  return { store, puts, alerts };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const recordAt = (readAt: number, capacityNanoUsd = 1): KeyRecord => ({
  upstreamKey: "master",
  capacityNanoUsd,
  day: "2027-06-15",
  readAt,
});

test("a record is known at once, however long its store takes, and read from there once it is written", async () => {
  const { store, puts } = makeSlowStore();
  store.put("vkey:a", recordAt(1));
  assert.deepEqual(await store.get("vkey:a"), recordAt(1));
  puts[0]?.finish();
  await turn();
  assert.deepEqual(await store.get("vkey:a"), recordAt(1));
  assert.equal(await store.get("vkey:b"), undefined);
});

test("of one name the newest is written last: never two at a time, and none that is older than what is known", async () => {
  const { store, puts } = makeSlowStore();
  for (const record of [recordAt(1), recordAt(3), recordAt(2), recordAt(3, 5)]) store.put("vkey:a", record);
  assert.deepEqual(await store.get("vkey:a"), recordAt(3, 5));
  assert.deepEqual(
    puts.map(({ record }) => record),
    [recordAt(1)],
  );
  puts[0]?.finish();
  await turn();
  assert.deepEqual(
    puts.slice(1).map(({ record }) => record),
    [recordAt(3, 5)],
    "what came in between is skipped",
  );
  puts[1]?.finish();
  await turn();
  assert.deepEqual([puts.length, await store.get("vkey:a")], [2, recordAt(3, 5)]);
});

test("a record that its store refuses stays known, alerts, and is written with the next one", async () => {
  const { store, puts, alerts } = makeSlowStore();
  store.put("vkey:a", recordAt(1));
  puts[0]?.finish(new Error("full"));
  await turn();
  assert.deepEqual([puts.length, alerts], [1, ["key_record"]], "and is not tried on and on");
  assert.deepEqual(await store.get("vkey:a"), recordAt(1));
  store.put("vkey:a", recordAt(2));
  puts[1]?.finish();
  await turn();
  assert.deepEqual(await store.get("vkey:a"), recordAt(2));
});
