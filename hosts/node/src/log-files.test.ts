import assert from "node:assert/strict";
import fs, { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { type LogFiles, openLogFiles, readLog } from "./log-files.ts";

const folder = mkdtempSync(join(tmpdir(), "log-files-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newDatabase = (): string => join(folder, `${++files}.sqlite`);

const isDeep = process.env.DEEP === "1";
const ends = ["-log1", "-log2"];
const text = (records: readonly Uint8Array[]): string[] => records.map((record) => Buffer.from(record).toString());
const append = (log: LogFiles, record: string): Promise<number> => log.append(Buffer.from(record));
const HEAD = 36;
const RECORD_HEAD = 12;
const LEDGER = 2 ** 48 - 1;
const found = (database: string, last = 0): string[] => text(readLog(database, { ledger: LEDGER, last }, "FULL"));

/** A log of one file, with where each record begins, and where the last one ends. */
async function writeLog(records: readonly string[]): Promise<{ database: string; file: string; places: number[] }> {
  const database = newDatabase();
  const log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL");
  const places = [HEAD];
  for (const record of records) {
    await append(log, record);
    places.push((places.at(-1) ?? 0) + RECORD_HEAD + record.length);
  }
  log.close();
  return { database, file: `${database}-log2`, places };
}

test("cut at any byte, the log ends with the last record that is whole", async () => {
  const records = ["one", "the second", "x".repeat(300)];
  const { database, file, places } = await writeLog(records);
  const whole = readFileSync(file);
  assert.equal(places.at(-1), whole.length);
  for (let length = HEAD; length <= whole.length; length++) {
    const left = places.findLastIndex((place) => place <= length);
    writeFileSync(file, whole.subarray(0, length));
    assert.deepEqual(found(database), records.slice(0, left), `cut at ${length}`);
    // The file was made longer, and what is cut was not written.
    writeFileSync(file, Buffer.concat([whole.subarray(0, length), Buffer.alloc(whole.length - length)]));
    assert.deepEqual(found(database), records.slice(0, left));
  }
});

test("cut in its head, the first file that is written stops the start, unless the start died that was writing it", async () => {
  const { database, file } = await writeLog(["one"]);
  const whole = readFileSync(file);
  for (let length = 0; length < HEAD; length++) {
    writeFileSync(file, whole.subarray(0, length));
    assert.throws(() => found(database), /-log2 is missing or empty/, `cut at ${length}`);
  }
  writeFileSync(`${database}-log1`, "");
  for (let length = 0; length < HEAD; length++) {
    writeFileSync(file, whole.subarray(0, length));
    assert.deepEqual(found(database), []);
  }
  writeFileSync(file, Buffer.alloc(whole.length));
  assert.deepEqual(found(database), []);
});

test("a record that is damaged stops the start with its place; nothing is skipped, unless it was written last", async () => {
  const records = ["one", "the second", "x".repeat(30)];
  const { database, file, places } = await writeLog(records);
  const whole = readFileSync(file);
  for (let at = 0; at < whole.length; at++) {
    const broken = Buffer.from(whole);
    broken[at] = (broken[at] ?? 0) ^ 0x10;
    writeFileSync(file, broken);
    const record = places.findLastIndex((place) => place <= at);
    if (record === 2) {
      assert.deepEqual(found(database), records.slice(0, 2), `byte ${at}`);
      continue;
    }
    const place = record === -1 ? 0 : places[record];
    const expected = at < 16 ? /is no log of this version/ : new RegExp(`-log2 is damaged at byte ${place}\\.`);
    assert.throws(() => found(database), expected, `byte ${at}`);
    assert.ok(readFileSync(file).equals(broken), "it is as it was");
    if (record === -1) continue;
    assert.deepEqual(
      text(readLog(database, { ledger: LEDGER, last: 0 }, "NORMAL")),
      records.slice(0, record),
      "with NORMAL it ends there",
    );
  }
});

test("a file that is missing, or has become shorter, stops the start", async () => {
  const database = newDatabase();
  const log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL", 100);
  for (const record of ["a", "b", "c", "d"]) await append(log, record.repeat(60));
  log.close();
  const [first, second] = [`${database}-log2`, `${database}-log1`];
  for (const file of [first, second]) assert.ok(readFileSync(file).length > HEAD, "both files");
  const whole = readFileSync(first);
  writeFileSync(first, whole.subarray(0, whole.length - 1));
  assert.throws(() => found(database), new RegExp(`${first} is damaged at byte ${HEAD}. Record 1 cannot be read`));
  const other = readFileSync(`${database}-log1`);
  writeFileSync(first, other);
  assert.throws(
    () => found(database),
    /begins with record \d+, and the database ends with record 0. .+ is an older copy/,
  );
});

test("a file that was removed or emptied beside another stops the start, whichever has the records", async () => {
  const records = ["one", "the second"];
  for (const file of ends) {
    for (const change of [rmSync, (name: string) => writeFileSync(name, "")]) {
      const { database } = await writeLog(records);
      change(database + file);
      assert.throws(() => found(database), new RegExp(`${file} is missing or empty, and the other one is not`));
    }
  }
});

test("a log whose last record the tables have long had is an older copy, and stops the start", async () => {
  const { database } = await writeLog(["one", "the second", "the third"]);
  assert.deepEqual(found(database, 3), []);
  assert.throws(
    () => found(database, 4),
    /-log2 ends with record 3, and the database ends with record 4.+older copies/,
  );
  assert.deepEqual(readLog(database, { ledger: LEDGER, last: 4 }, "NORMAL"), []);
});

test("two files that are missing or emptied stop the start, if the tables say that they may have commits", async () => {
  const isInUse = true;
  for (const change of [rmSync, (name: string) => writeFileSync(name, "")]) {
    const { database } = await writeLog(["one"]);
    for (const file of ends) change(database + file);
    assert.deepEqual(readLog(database, { ledger: LEDGER, last: 1 }, "FULL"), []);
    const place = { ledger: LEDGER, last: 1, isInUse };
    assert.throws(() => readLog(database, place, "FULL"), /are missing or empty.+Restore both files/);
    assert.deepEqual(readLog(database, place, "NORMAL"), []);
  }
});

/** Records 1 to 15, of which the first file has the later ones. */
async function fillBoth(): Promise<string> {
  const database = newDatabase();
  const log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL", 1_000);
  for (let number = 1; number <= 15; number++) await append(log, `${number} `.padEnd(80, "x"));
  log.close();
  assert.ok(readFileSync(`${database}-log2`).includes("11 x") && readFileSync(`${database}-log1`).includes("12 x"));
  return database;
}

test("once a damaged log was ended with NORMAL, nothing behind its end ever comes back", async () => {
  const database = await fillBoth();
  const broken = readFileSync(`${database}-log2`);
  broken[HEAD + 2 * 92 + 20] = 0;
  writeFileSync(`${database}-log2`, broken);
  assert.throws(() => found(database), /-log2 is damaged at byte 220. Record 3 cannot be read/);
  assert.equal(readLog(database, { ledger: LEDGER, last: 0 }, "NORMAL").length, 2);
  const log = openLogFiles(database, { ledger: LEDGER, last: 2 }, "NORMAL");
  assert.deepEqual(found(database, 2), [], "the start after that with FULL");
  for (let number = 3; number <= 13; number++) await append(log, `another ${number}`);
  log.close();
  assert.deepEqual(found(database, 11), ["another 12", "another 13"]);
});

test("a first record after a start of which only the end reached the disk is no damage", async () => {
  const { database, file } = await writeLog(Array.from({ length: 30 }, (_, index) => `${index} `.padEnd(600, "x")));
  const log = openLogFiles(database, { ledger: LEDGER, last: 30 }, "FULL");
  const before = readFileSync(file);
  await append(log, "y".repeat(9_000));
  log.close();
  const torn = readFileSync(file);
  before.copy(torn, 0, 0, 4_096);
  writeFileSync(file, torn);
  assert.deepEqual(found(database, 30), []);
});

test("a record that failed, although all of it was written, gives way to the one that was appended in its place", async (t) => {
  const database = newDatabase();
  const log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL", 200);
  for (const record of ["a", "b"]) await append(log, record.repeat(80));
  log.folded(1);
  // The first file is full, and the second one is not free until its records are folded.
  for (const record of ["c", "d"]) await append(log, record.repeat(200));
  const failing = t.mock.method(fs, "write", (...[descriptor, bytes, from, length, at, done]: WriteArguments) => {
    fs.writeSync(descriptor, bytes, from, length, at);
    done(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }), 0);
  });
  await assert.rejects(append(log, "refused"), /ENOSPC/);
  failing.mock.restore();
  log.folded(3);
  await append(log, "answered");
  log.close();
  assert.deepEqual(found(database, 3), ["d".repeat(200), "answered"]);
});

type WriteArguments = [number, Buffer, number, number, number, (error: Error | null, count: number) => void];

test("a log that another version wrote is refused with what to do", async () => {
  const { database, file } = await writeLog(["one"]);
  const other = readFileSync(file);
  other.write("ledger log, v. 2");
  writeFileSync(file, other);
  assert.throws(() => found(database), /is no log of this version. Start the version that wrote it/);
});

test("a log of another database is refused, so that nothing of a ledger that was removed comes back", async () => {
  const { database, file } = await writeLog(["one"]);
  assert.throws(() => readLog(database, { ledger: 7, last: 0 }, "FULL"), /is the log of another database/);
  assert.ok(existsSync(file));
});

test("whatever is appended and folded, who reads the log after any of it finds what is not folded, and only that", async () => {
  // A record's length, or, as false, a fold of all.
  const life = fc.array(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 90 }) }, fc.constant(false)), {
    maxLength: 30,
  });
  let turns = 0;
  await fc.assert(
    fc.asyncProperty(life, async (moves) => {
      const database = newDatabase();
      let folded = 0;
      let log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL", 150);
      const model: string[] = [];
      for (const [index, move] of moves.entries()) {
        if (move === false) {
          assert.deepEqual(text(log.unfolded()), model.slice(folded));
          folded = log.last;
          log.folded(folded);
          // A death, and the next start.
          if (index % 2 === 0) {
            log.close();
            log = openLogFiles(database, { ledger: LEDGER, last: folded }, "NORMAL", 150);
            turns += 1;
          }
        } else {
          model.push(`${index} `.padEnd(move, "x"));
          await append(log, model.at(-1) ?? "");
        }
        assert.deepEqual(found(database, folded), model.slice(folded));
        tearLast(database, folded, model);
      }
      log.close();
      for (const end of ends) rmSync(database + end, { force: true });
    }),
    { numRuns: isDeep ? 2_000 : 100, endOnFailure: true },
  );
  assert.ok(turns > 8, `${turns} starts`);
});

/** The last record was not written, over what an earlier use of the file has left. */
function tearLast(database: string, folded: number, model: readonly string[]): void {
  if (folded === model.length) return;
  const copy = newDatabase();
  for (const end of ends) if (existsSync(database + end)) copyFileSync(database + end, copy + end);
  const last = Buffer.from(model.at(-1) ?? "");
  for (const end of ends) {
    const bytes = readFileSync(copy + end);
    const at = bytes.indexOf(last);
    if (at < HEAD + RECORD_HEAD) continue;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(copy + end, bytes);
    assert.deepEqual(found(copy, folded), model.slice(folded, -1));
  }
  for (const end of ends) rmSync(copy + end, { force: true });
}

test("two files take turns, and neither grows while folding keeps up", async () => {
  const database = newDatabase();
  const log = openLogFiles(database, { ledger: LEDGER, last: 0 }, "NORMAL", 1_000);
  for (let number = 1; number <= 200; number++) {
    assert.equal(await append(log, "x".repeat(90)), number);
    if (number % 5 === 0) {
      log.unfolded();
      log.folded(number);
    }
  }
  for (const end of ends) assert.ok(statSync(database + end).size < 1_200, `${statSync(database + end).size} bytes`);
  assert.equal(log.unfoldedBytes, 0);
  for (let number = 0; number < 30; number++) await append(log, "x".repeat(90));
  assert.equal(log.unfoldedBytes > 3_000, true, "without folding the last one grows");
  log.close();
});
