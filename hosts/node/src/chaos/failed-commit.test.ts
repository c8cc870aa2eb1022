import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { bookAccount, setCeiling } from "@inference/gateway/test/chaos/books";
import { auditBooks, withBooks } from "./books.ts";
import { gatewayEnvironment, gatewayUrl, start, startProvider } from "./processes.ts";

const SECRET = "c7".repeat(32);

/** A state of a hold that the disk will not take, and so at which of a request's commits it fails. */
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
      const { key } = await withBooks(file, async (ledger) => {
        await setCeiling(ledger, 1_000_000_000_000);
        return bookAccount(ledger, SECRET, 1, { balanceNanoUsd: 1_000_000_000 });
      });
      const env = gatewayEnvironment({ databaseFile: file, secret: SECRET, provider });
      const broken = { NODE_OPTIONS: `--import=${import.meta.resolve("./failing-writes.ts")}`, REFUSED_WRITE: state };
      const gateway = await start({ script: "../main.ts", env: { ...env, ...broken } });
      running.add(gateway);
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const response = await fetch(`${gatewayUrl(gateway.ready)}/v1/chat/completions`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify({ model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "hi" }] }),
          });
          return { status: response.status, text: await response.text() };
        }),
      );
      for (const { status, text } of answers) {
        assert.equal(status, 503, text);
        assert.match(text, /"code":"ledger_unavailable"/);
      }
      const { code } = await gateway.ended;
      assert.equal(code, 1);
      assert.match(gateway.stderr(), /"event":"ledger_stopped"/);
      const books = auditBooks(file);
      assert.deepEqual(books.problems, []);
      assert.equal(books.settledNanoUsd, 0);

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
