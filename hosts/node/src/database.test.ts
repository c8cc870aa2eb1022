import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { SCHEMA_VERSION } from "@inference/ledger/schema";
import { fileOf, isDiskFull, openDatabase, startError } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "database-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.sqlite`);

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

test("the file is a WAL, and FULL unless it is told otherwise", () => {
  for (const [synchronous, level] of [
    [undefined, 2],
    ["FULL", 2],
    ["NORMAL", 1],
  ] as const) {
    const database = openDatabase(newFile(), synchronous);
    assert.equal(pragma(database, "journal_mode"), "wal");
    assert.equal(pragma(database, "synchronous"), level);
    assert.equal(pragma(database, "user_version"), SCHEMA_VERSION);
    database.close();
  }
});

test("a second gateway on the same file fails with one line, in this process or another, and harms nothing", () => {
  const file = newFile();
  const first = openDatabase(file);
  assert.throws(() => openDatabase(file), { message: oneLineAbout(file) });
  const script = `import { openDatabase } from ${JSON.stringify(import.meta.resolve("./database.ts"))};
    try { openDatabase(${JSON.stringify(file)}); } catch (error) { process.stdout.write(error.message); }`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.match(stdout, oneLineAbout(file));
  first.exec("INSERT INTO nonce_row (partition, id, expires_at) VALUES ('account:a', 'b', 1)");
  first.close();
  const second = openDatabase(file);
  assert.equal(second.prepare("SELECT id FROM nonce_row").get()?.id, "b");
  second.close();
});

function oneLineAbout(file: string): RegExp {
  return new RegExp(`^Another gateway is using ${file}: [^\\n]+$`);
}

test("a file of the same schema gets the nullable columns and indexes that it lacks, and keeps its rows", () => {
  const file = newFile();
  const older = openDatabase(file);
  older.exec("INSERT INTO nonce_row (partition, id, expires_at) VALUES ('account:a', 'b', 1)");
  older.exec("ALTER TABLE nonce_row DROP COLUMN digest; DROP INDEX live_key");
  older.close();
  const database = openDatabase(file);
  const nonce = database.prepare("SELECT id, digest FROM nonce_row").get();
  assert.deepEqual({ ...nonce }, { id: "b", digest: null });
  assert.ok(database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'live_key'").get());
  database.close();
});

test("a file of another schema is refused, and left as it is", () => {
  const file = newFile();
  openDatabase(file).close();
  const other = new DatabaseSync(file);
  other.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
  other.close();
  assert.throws(() => openDatabase(file), /has schema \d+, and this gateway wants \d+. Start the release/);
  const again = new DatabaseSync(file);
  assert.equal(pragma(again, "user_version"), SCHEMA_VERSION + 1);
  again.close();
});

test("a file that is no database, or lies nowhere, is refused with its name", () => {
  const file = newFile();
  writeFileSync(file, "this is no database, and long enough to be seen as none ".repeat(100));
  assert.throws(
    () => openDatabase(file),
    (error: Error) => error.message.includes(file),
  );
  const nowhere = join(folder, "no-such-folder", "gateway.sqlite");
  assert.throws(
    () => openDatabase(nowhere),
    (error: Error) => error.message.includes(nowhere),
  );
});

test("a start that died while it made the tables begins again", () => {
  const file = newFile();
  const half = new DatabaseSync(file);
  half.exec("PRAGMA journal_mode = WAL");
  half.exec("BEGIN IMMEDIATE");
  half.exec("CREATE TABLE budget_row (partition TEXT)");
  half.close();
  const database = openDatabase(file);
  assert.equal(pragma(database, "user_version"), SCHEMA_VERSION);
  assert.equal(pragma(database, "integrity_check"), "ok");
  database.close();
});

test("a full disk is told apart from other failures", () => {
  const database = openDatabase(newFile());
  assert.equal(isDiskFull(new Error("no SQLite error")), false);
  assert.equal(isDiskFull(null), false);
  database.exec(`PRAGMA max_page_count = ${String(pragma(database, "page_count"))}`);
  const fill = database.prepare("INSERT INTO nonce_row (partition, id, expires_at) VALUES (?, ?, 1)");
  assert.throws(() => {
    for (let row = 0; row < 10_000; row++) fill.run(`${row}`, "x".repeat(1_000));
  }, isDiskFull);
  assert.throws(
    () => database.exec("INSERT INTO nonce_row (id) VALUES ('a')"),
    (error) => !isDiskFull(error),
  );
  assert.throws(
    () => fill.run("b", "x".repeat(1_000_000)),
    (error) => {
      for (const one of [error, new Error("The database x cannot be used", { cause: error })]) {
        assert.match(
          startError(one),
          /^The disk is full: .+Free some MB on the disk of DATABASE_FILE, then start again/,
        );
      }
      return true;
    },
  );
  assert.equal(startError(new Error("wrong settings")), "wrong settings");
  database.close();
});

test("a second gateway is kept out by whatever name it comes, and the file is free again after the first", () => {
  const file = newFile();
  const first = openDatabase(fileOf(file));
  const other = join(folder, "other");
  mkdirSync(other);
  symlinkSync(file, join(other, "link.sqlite"));
  symlinkSync(folder, join(other, "folder"));
  for (const name of [file, join(other, "link.sqlite"), join(other, "folder", `${files}.sqlite`)]) {
    assert.throws(() => openDatabase(fileOf(name)), { message: /^Another gateway is using [^\n]+$/ });
  }
  linkSync(file, join(other, "hard.sqlite"));
  assert.throws(() => fileOf(join(other, "hard.sqlite")), /a second name/);
  rmSync(join(other, "hard.sqlite"));
  first.close();
  openDatabase(fileOf(join(other, "link.sqlite"))).close();
});

test("a link to a file that is not there yet leads to the same file for all", () => {
  const file = newFile();
  symlinkSync(file, `${file}-link`);
  const first = openDatabase(fileOf(`${file}-link`));
  assert.throws(() => openDatabase(fileOf(file)), { message: /^Another gateway is using / });
  first.close();
});

test("a ledger that no file would hold is refused", () => {
  for (const name of [":memory:", "", "file:ledger?mode=memory"]) {
    assert.throws(() => fileOf(name), /must be the name of a file/);
  }
});
