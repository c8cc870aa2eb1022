import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForgettableTable, OverdueQuery } from "@inference/ledger/client";
import {
  type BillRow,
  type Change,
  isHold,
  type KeyRow,
  type ReceiptRow,
  type Row,
  type TableName,
} from "@inference/ledger/tables";
import { forgettableTables } from "@inference/ledger/walks";
import fc from "fast-check";
import { lookAt, openOwnRows } from "./own-rows.ts";
import type { LogBounds } from "./row-log.ts";
import { exampleRow } from "./testing/example-rows.ts";
import { openNodeStorage } from "./testing/node-storage.ts";

/**
 * Memory over a log over segments is one thing: a map of rows. Reads equal the map, however writes, commits, failures,
 * forgetting and a small log alternate.
 */
const partition = "account:0x00000000000000000000000000000000000000aa";
const written: TableName[] = ["budget", "bill", "key", "nonce", "receipt", "outbox", "use", "session"];

const ids = Array.from({ length: 8 }, (_, n) => `id_${n}`);
const id = fc.constantFrom(...ids);
const change = fc.record({ table: fc.constantFrom(...written), id, seed: fc.nat({ max: 60 }), isGone: fc.boolean() });
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant("commit" as const), changes: fc.array(change, { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("acknowledge" as const), id }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("reopen" as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("shorten" as const), after: fc.nat({ max: 6 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("fail" as const),
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
      after: fc.nat({ max: 6 }),
    }),
  },
);
const look = fc.record({
  from: fc.oneof(fc.constant(""), id),
  until: fc.oneof(fc.constant("~"), id),
  limit: fc.integer({ min: 1, max: 12 }),
  at: fc.nat({ max: 70 }),
});
const plan = fc.record({
  /** Starts with rows of every kind, or without rows. */
  begins: fc.constantFrom("full" as const, "empty" as const),
  bounds: fc.record({ slots: fc.integer({ min: 1, max: 8 }), characters: fc.constantFrom(0, 500, 2_000, 100_000) }),
  steps: fc.array(fc.tuple(operation, look), { minLength: 5, maxLength: 40 }),
});
type Look = typeof look extends fc.Arbitrary<infer L> ? L : never;
type Wanted = typeof change extends fc.Arbitrary<infer C> ? C : never;
type Model = Map<string, { table: TableName; id: string; row: Row }>;

const NUM_RUNS = process.env.DEEP === "1" ? 5_000 : 30;
const count = { folds: 0, failures: 0, failedWrites: 0 };

test("an object's rows equal a map of them, through all changes of memory, log and segments", () => {
  fc.assert(fc.property(plan, play), { numRuns: NUM_RUNS });
  console.log(JSON.stringify(count));
  assert.ok(count.folds > NUM_RUNS && count.failures > NUM_RUNS / 4, JSON.stringify(count));
  assert.ok(count.failedWrites > 0, JSON.stringify(count));
});

function play({ begins, bounds, steps }: typeof plan extends fc.Arbitrary<infer P> ? P : never): void {
  const storage = openNodeStorage();
  const copy = new Map<number, string>();
  const open = (bounds: LogBounds) => openOwnRows(storage, bounds, ({ fold, changes }) => copy.set(fold, changes));
  let rows = open({ slots: 1, characters: 0 });
  // All there is, in segments: so much more is to be found behind what goes.
  const first = (begins === "empty" ? [] : written).flatMap((table) =>
    ids.map((id, seed) => toChange({ table, id, seed, isGone: false })),
  );
  rows.write(partition, first);
  rows.commit();
  let stored = lay(new Map(), first);
  let reopened = 0;
  let model: Model = new Map(stored);
  rows = open(bounds);
  for (const [step, next] of steps) {
    storage.statements.length = 0;
    if (step.does === "acknowledge") {
      rows.acknowledge([step.id]);
      model.delete(`outbox ${step.id}`);
    } else if (step.does === "reopen") {
      // Another version may give the log fewer slots than it has.
      reopened += 1;
      rows = open(reopened % 2 === 0 ? bounds : { ...bounds, slots: Math.ceil(bounds.slots / 2) });
      model = new Map(stored);
    } else if (step.does === "shorten") {
      // Only what is committed can be written anew.
      rows = open(bounds);
      model = new Map(stored);
      assert.equal(rows.isEmpty(), model.size === 0);
      storage.failAfter(step.after);
      try {
        rows.shorten();
      } catch (error) {
        assert.match(String(error), /disk full/);
      }
      storage.failAfter(Number.POSITIVE_INFINITY);
    } else {
      const changes = step.changes.map(toChange);
      if (step.does === "fail") {
        // A memory that is new has to read before it can write.
        rows = open(bounds);
        model = new Map(stored);
        storage.failAfter(step.after);
      }
      const written = writes(rows, changes) ? lay(model, changes) : model;
      try {
        rows.commit();
        model = written;
        stored = new Map(written);
      } catch (error) {
        assert.match(String(error), /disk full/);
        model = new Map(stored);
        count.failures += 1;
      }
      storage.failAfter(Number.POSITIVE_INFINITY);
      if (storage.statements.length > 1) count.folds += 1;
    }
    check(rows, model, next);
  }
  const all = { from: "", until: "~", limit: 100, at: 70 };
  const last = openOwnRows(storage, bounds);
  check(last, stored, all);
  const { fold, changes } = last.nextFold();
  check(filled(copy.set(fold, changes), fold), stored, all);
}

/** An object that is lost, with the rows of its copy. */
function filled(copy: ReadonlyMap<number, string>, last: number): ReturnType<typeof openOwnRows> {
  const rows = openOwnRows(openNodeStorage());
  rows.countFrom(last + 1);
  for (let fold = 0; fold <= last; fold += 1) {
    rows.write(partition, JSON.parse(copy.get(fold) ?? assert.fail(`fold ${fold} was not told`)) as Change[]);
  }
  rows.commit();
  return rows;
}

/** Whether they were: nothing of those that were not is in the memory. */
function writes(rows: ReturnType<typeof openOwnRows>, changes: readonly Change[]): boolean {
  try {
    rows.write(partition, changes);
    return true;
  } catch (error) {
    assert.match(String(error), /disk full/);
    count.failedWrites += 1;
    return false;
  }
}

function toChange({ table, id, seed, isGone }: Wanted): Change {
  return { table, id, row: isGone ? null : exampleRow(table, id, seed) } as Change;
}

function lay(model: Model, changes: readonly Change[]): Model {
  const laid = new Map(model);
  for (const { table, id, row } of changes) {
    if (row === null) laid.delete(`${table} ${id}`);
    else laid.set(`${table} ${id}`, { table, id, row });
  }
  return laid;
}

function check(rows: ReturnType<typeof openOwnRows>, model: Model, { from, until, limit, at }: Look): void {
  const own = rows.of(partition);
  const all = (table: TableName): Row[] =>
    [...model.values()]
      .filter((entry) => entry.table === table)
      .map(({ row }) => row)
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const table of written) {
    assert.deepEqual(own.get(table, from), model.get(`${table} ${from}`)?.row, `${table} ${from}`);
    assert.deepEqual(
      own.list(table, { after: from, limit }),
      all(table)
        .filter((row) => row.id > from)
        .slice(0, limit),
    );
    const before = all(table).filter((row) => row.id < until);
    assert.deepEqual(own.newest(table, { before: until, limit }), before.toReversed().slice(0, limit));
  }
  const keys = all("key") as KeyRow[];
  assert.deepEqual(
    own.liveKeys(),
    keys.filter(({ revokedAt }) => revokedAt === null),
  );
  assert.deepEqual(new Set(rows.outbox()), new Set(all("outbox")));
  assert.equal(rows.undelivered(), all("outbox").length);
  const holds = (all("receipt") as ReceiptRow[]).filter(isHold);
  assert.deepEqual(own.holds(), holds);
  const leases = holds.map(({ leaseUntil }) => leaseUntil).sort((one, other) => one - other);
  assert.equal(rows.firstLook(), holds.map(lookAt).sort((one, other) => one - other)[0]);
  const lapsed = rows.lapsedHolds(at, limit);
  assert.deepEqual(
    lapsed.map(({ hold }) => hold.leaseUntil),
    leases.filter((lease) => lease < at).slice(0, limit),
  );
  const dueTimes = (all("bill") as BillRow[]).flatMap(({ dueAt }) => dueAt ?? []);
  assert.equal(rows.dueAt("bill"), dueTimes.length === 0 ? undefined : Math.min(...dueTimes));
  for (const one of lapsed) assert.deepEqual(one, { partition, hold: model.get(`receipt ${one.hold.id}`)?.row });
  for (const table of forgettableTables) checkForgetting(rows, all(table), { table, at, limit });
}

/** The overdue rows, page by page, and when the next one is due. */
function checkForgetting(
  rows: ReturnType<typeof openOwnRows>,
  all: readonly Row[],
  { table, at, limit }: { table: ForgettableTable; at: number; limit: number },
): void {
  const times = all.flatMap((row) => endOf(row) ?? []);
  assert.equal(rows.firstKept(table), times.length === 0 ? undefined : Math.min(...times), table);
  const found: string[] = [];
  let after: OverdueQuery["after"] = null;
  do {
    const page = rows.overdue(table, at, { after, limit });
    found.push(...page.rows.map((row) => row.id));
    after = page.next;
  } while (after !== null);
  const over = all.filter((row) => (endOf(row) ?? at) < at);
  assert.deepEqual(
    found,
    over.map((row) => row.id),
    table,
  );
}

function endOf(row: object): number | null {
  const { admittedAt, expiresAt, ...ends } = row as Record<string, number | null>;
  if (admittedAt !== undefined) return admittedAt;
  if (!("unpaidUntil" in ends)) return expiresAt ?? null;
  const known = [expiresAt, ends.revokedAt, ends.unpaidUntil].filter((end) => typeof end === "number");
  return known.length === 0 ? null : Math.min(...known);
}
