import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { withSite } from "../testing/site.ts";
import { auditBooks } from "./books.ts";
import { askFor, gatewayUrl, nothingHeld } from "./processes.ts";

/** A state of a hold that the table refuses, and so at which of a request's commits it fails. */
const allFailures = [
  ["settle", "settled"],
  ["reserve", "open"],
] as const;
const failures = allFailures.slice(0, process.env.DEEP === "1" ? 2 : 1);

test("a commit that fails answers every waiting request with 503 and ends the process, and the next one ends its holds", () =>
  withSite(async ({ file, env, accounts, start }) => {
    const [account = assert.fail()] = await accounts(1, 1_000_000_000);
    for (const [commit, state] of failures) {
      execute(
        file,
        `CREATE TRIGGER refuse BEFORE INSERT ON receipt_row WHEN NEW.state = '${state}'
        BEGIN SELECT RAISE(ABORT, 'refused'); END`,
      );
      const gateway = await start({ script: "../main.ts", env });
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => {
          // A request that the provider answers after the process has ended is cut.
          const response = await askFor(gatewayUrl(gateway.ready), account.key).catch(() => null);
          return response === null ? [] : [{ status: response.status, text: await response.text() }];
        }),
      );
      assert.ok(answers.flat().length > 0, commit);
      for (const { status, text } of answers.flat()) {
        assert.equal(status, 503, text);
        assert.match(text, /"code":"ledger_unavailable"/);
      }
      assert.equal((await gateway.ended).code, 1, commit);
      assert.match(gateway.stderr(), /"event":"ledger_stopped"/);
      const { problems, settledNanoUsd } = auditBooks(file);
      assert.deepEqual([problems, settledNanoUsd], [[], 0], commit);
      execute(file, "DROP TRIGGER refuse");
    }
    const next = await start({ script: "./victim.ts", env });
    await nothingHeld(next, [account]);
    assert.equal((await next.kill("SIGTERM")).code, 0, next.stderr());
    const { problems, openHolds } = auditBooks(file);
    assert.deepEqual([problems, openHolds], [[], 0]);
  }));

function execute(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

/** Bytes of the largest file that the gateway may write. A write beyond them is cut short, and fails. */
const FILE_BYTES = 400 * 1024;

test("a write of the WAL that is cut short ends the process, and loses no answered request", () =>
  withSite(async ({ file, env, accounts, start }) => {
    const [{ key } = assert.fail()] = await accounts(1, 1_000_000_000);
    // Blocks of 512 bytes, as POSIX says.
    const under = ["sh", "-c", `ulimit -f ${FILE_BYTES / 512}; exec "$@"`, "sh"];
    const gateway = await start({ script: "../main.ts", env, under });
    let answered = 0;
    let status = 200;
    while (status === 200) {
      const response = await askFor(gatewayUrl(gateway.ready), key);
      await response.text();
      status = response.status;
      if (status === 200) answered += 1;
    }
    assert.equal(status, 503);
    assert.equal((await gateway.ended).code, 1);
    assert.match(gateway.stderr(), /"event":"ledger_stopped","error":"Error: disk I\/O error"/);
    assert.ok(answered > 0);
    const { problems, receipts } = auditBooks(file);
    assert.deepEqual([problems, receipts], [[], answered]);
  }));
