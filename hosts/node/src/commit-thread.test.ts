import assert from "node:assert/strict";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { startCommitThread } from "./commit-thread.ts";
import { type EncodedRows, encodeRow } from "./encoded-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "commit-thread-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.sqlite`);

function nonce(id: string, expiresAt = 1): EncodedRows {
  const rows: EncodedRows = [];
  encodeRow(rows, { partition: "account:a", table: "nonce", id, stored: undefined, row: { id, expiresAt } });
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
  const ends = await Promise.allSettled([
    thread.commit(nonce("a")),
    thread.commit(nonce("refused", -1)),
    thread.commit(nonce("b")),
  ]);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(nonces(file), ["a", "b"]);
  await thread.close();
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
  assert.deepEqual(nonces(file), ["a", "c"]);
  await Promise.all([first.close(), second.close()]);
});

test("a ledger that no file would hold is refused", async () => {
  for (const name of [":memory:", "", "file:ledger?mode=memory"]) {
    await assert.rejects(startCommitThread(name, "NORMAL"), /must be the name of a file/);
  }
});
