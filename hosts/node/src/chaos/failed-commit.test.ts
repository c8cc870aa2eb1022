import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { auditBooks, bookDollar } from "./books.ts";
import { askFor, gatewayEnvironment, gatewayUrl, start, startProvider } from "./processes.ts";

const SECRET = "c7".repeat(32);

/** A state of a hold that the table refuses, and so at which of a request's commits it fails. */
const failures = [
  ["reserve", "open"],
  ["settle", "settled"],
] as const;

for (const [commit, state] of failures) {
  test(`a ${commit} that cannot be committed: 503 to all who wait, the process ends, and the books are right`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "failed-"));
    const file = join(folder, "gateway.sqlite");
    const provider = await startProvider();
    const running = new Set<{ kill(): Promise<unknown> }>([provider]);
    try {
      const { key } = await bookDollar(file, SECRET);
      const env = gatewayEnvironment({ databaseFile: file, secret: SECRET, provider });
      execute(
        file,
        `CREATE TRIGGER refuse BEFORE INSERT ON receipt_row WHEN NEW.state = '${state}'
        BEGIN SELECT RAISE(ABORT, 'refused'); END`,
      );
      const gateway = await start({ script: "../main.ts", env });
      running.add(gateway);
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => {
          // A request that the provider answers after the process has ended is cut.
          const response = await askFor(gatewayUrl(gateway.ready), key).catch(() => null);
          return response === null ? [] : [{ status: response.status, text: await response.text() }];
        }),
      );
      assert.ok(answers.flat().length > 0);
      for (const { status, text } of answers.flat()) {
        assert.equal(status, 503, text);
        assert.match(text, /"code":"ledger_unavailable"/);
      }
      const { code } = await gateway.ended;
      assert.equal(code, 1);
      assert.match(gateway.stderr(), /"event":"ledger_stopped"/);
      const books = auditBooks(file);
      assert.deepEqual(books.problems, []);
      assert.equal(books.settledNanoUsd, 0);
      execute(file, "DROP TRIGGER refuse");

      const next = await start({ script: "./victim.ts", env });
      running.add(next);
      await new Promise((resolve) => setTimeout(resolve, 800));
      assert.equal((await next.kill("SIGTERM")).code, 0, next.stderr());
      assert.deepEqual(auditBooks(file).problems, []);
      assert.equal(auditBooks(file).openHolds, 0);
    } finally {
      for (const process of running) await process.kill();
      rmSync(folder, { recursive: true });
    }
  });
}

function execute(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

/** Bytes of the largest file that the gateway may write. A write beyond them is cut short, and fails. */
const FILE_BYTES = 400 * 1024;

test("a write of the WAL that is cut short ends the process, and loses no answered request", async () => {
  const folder = mkdtempSync(join(tmpdir(), "failed-"));
  const file = join(folder, "gateway.sqlite");
  const provider = await startProvider();
  const running = new Set<{ kill(): Promise<unknown> }>([provider]);
  try {
    const { key } = await bookDollar(file, SECRET);
    const gateway = await start({
      script: "../main.ts",
      env: gatewayEnvironment({ databaseFile: file, secret: SECRET, provider }),
      // Blocks of 512 bytes, as POSIX says.
      under: ["sh", "-c", `ulimit -f ${FILE_BYTES / 512}; exec "$@"`, "sh"],
    });
    running.add(gateway);
    let answered = 0;
    let status = 200;
    while (status === 200) {
      status = await ask(gatewayUrl(gateway.ready), key);
      if (status === 200) answered += 1;
    }
    assert.equal(status, 503);
    assert.equal((await gateway.ended).code, 1);
    assert.match(gateway.stderr(), /"event":"ledger_stopped","error":"Error: disk I\/O error"/);
    assert.ok(answered > 0);
    const books = auditBooks(file);
    assert.deepEqual(books.problems, []);
    assert.equal(books.receipts, answered);
  } finally {
    for (const process of running) await process.kill();
    rmSync(folder, { recursive: true });
  }
});

async function ask(url: string, key: string): Promise<number> {
  const response = await askFor(url, key);
  await response.text();
  return response.status;
}
