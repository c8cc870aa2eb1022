import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startCommitThread } from "./commit-thread.ts";
import { type EncodedRows, encodeRow } from "./encoded-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "commit-thread-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.sqlite`);

function nonce(id: string): EncodedRows {
  const rows: EncodedRows = [];
  encodeRow(rows, {
    partition: "account:a",
    table: "nonce",
    id,
    stored: undefined,
    row: { id, expiresAt: 1, digest: null },
  });
  return rows;
}

function nonces(file: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database
      .prepare("SELECT id FROM nonce_row ORDER BY id")
      .all()
      .map(({ id }) => id);
  } finally {
    database.close();
  }
}

test("commits that are under way together are each told of their own end", async () => {
  const file = newFile();
  const thread = await startCommitThread(file, "NORMAL");
  const other = new DatabaseSync(file);
  other.exec(`CREATE TRIGGER refuse BEFORE INSERT ON log WHEN instr(NEW.rows, CAST('refused' AS BLOB)) > 0
    BEGIN SELECT raise(ABORT, 'refused'); END`);
  other.close();
  const ends = await Promise.allSettled([
    thread.commit(nonce("a")),
    thread.commit(nonce("refused")),
    thread.commit(nonce("b")),
  ]);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  await thread.fold();
  assert.deepEqual(nonces(file), ["a", "b"]);
  await thread.close();
});

test("light steady traffic is folded while it lasts, so what is not yet in its tables stays bounded", async () => {
  const thread = await startCommitThread(newFile(), "NORMAL");
  let folded = 0;
  let folds = 0;
  let mostUnfolded = 0;
  thread.onFolded((number) => {
    folded = number;
    folds += 1;
  });
  const until = performance.now() + 3_000;
  while (performance.now() < until) {
    const number = await thread.commit(nonce(randomUUID()));
    mostUnfolded = Math.max(mostUnfolded, number - folded);
    await sleep(2);
  }
  await thread.close();
  assert.ok(folds >= 3, `${folds} folds in 3 s`);
  assert.ok(mostUnfolded <= 500, `${mostUnfolded} commits were in the log and not in their tables`);
});

test("closing waits for the commits before it, takes none after it, and may be asked for twice", async () => {
  const file = newFile();
  const thread = await startCommitThread(file, "NORMAL");
  const before = thread.commit(nonce("before"));
  const closed = thread.close();
  const late = assert.rejects(thread.commit(nonce("late")), /closing/);
  await Promise.all([before, closed, thread.close(), late]);
  assert.deepEqual(nonces(file), ["before"]);
  await assert.rejects(thread.commit(nonce("after")), /closing/);
});

test("a second gateway is kept out by whatever name it comes, and the file is free again after the first", async () => {
  const file = newFile();
  const first = await startCommitThread(file, "NORMAL");
  const other = join(folder, "other");
  mkdirSync(other);
  symlinkSync(file, join(other, "link.sqlite"));
  symlinkSync(folder, join(other, "folder"));
  for (const name of [file, join(other, "link.sqlite"), join(other, "folder", `${files}.sqlite`)]) {
    await assert.rejects(startCommitThread(name, "NORMAL"), { message: /^Another gateway is using [^\n]+$/ });
  }
  linkSync(file, join(other, "hard.sqlite"));
  await assert.rejects(startCommitThread(join(other, "hard.sqlite"), "NORMAL"), /a second name/);
  rmSync(join(other, "hard.sqlite"));
  await first.commit(nonce("first"));
  await first.close();
  const next = await startCommitThread(join(other, "link.sqlite"), "NORMAL");
  await next.close();
});

test("a link to a file that is not there yet leads to the same file for all", async () => {
  const file = newFile();
  symlinkSync(file, `${file}-link`);
  const first = await startCommitThread(`${file}-link`, "NORMAL");
  await assert.rejects(startCommitThread(file, "NORMAL"), { message: /^Another gateway is using / });
  await first.close();
});

test("one whose lock was deleted commits nothing once another has taken the file", async () => {
  const file = newFile();
  const first = await startCommitThread(file, "NORMAL");
  await first.commit(nonce("a"));
  rmSync(`${file}-lock`);
  const second = await startCommitThread(file, "NORMAL");
  await assert.rejects(first.commit(nonce("b")), /another gateway has taken/);
  await second.commit(nonce("c"));
  await second.fold();
  assert.deepEqual(nonces(file), ["a", "c"]);
  await Promise.all([first.close(), second.close()]);
});

test("what one has not folded yet is folded by who takes the file, and by nobody after that", async () => {
  const file = newFile();
  const first = await startCommitThread(file, "NORMAL");
  for (let n = 0; n < 50; n++) await first.commit(nonce(`early ${n}`));
  const other = new DatabaseSync(file);
  // As if another had started in this moment.
  other.exec("PRAGMA busy_timeout = 5000; UPDATE owner SET id = 'another'");
  const logged = other.prepare("SELECT COUNT(*) AS count FROM log").get()?.count;
  other.close();
  await assert.rejects(first.fold(), /another gateway has taken/);
  const left = new DatabaseSync(file, { readOnly: true });
  assert.equal(left.prepare("SELECT COUNT(*) AS count FROM log").get()?.count, logged, "it left the log alone");
  left.close();
  // Between two commits it folds by itself, and then it may have ended by now.
  await first.close().catch(() => undefined);
  const second = await startCommitThread(file, "NORMAL");
  assert.equal(nonces(file).length, 50);
  await second.close();
});

test("a ledger that no file would hold is refused", async () => {
  for (const name of [":memory:", "", "file:ledger?mode=memory"]) {
    await assert.rejects(startCommitThread(name, "NORMAL"), /must be the name of a file/);
  }
});
