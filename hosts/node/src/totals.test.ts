import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Stack, startStack } from "./testing/stack.ts";

/** A Node test, because it writes rows past the ledger: no suite can make so many. */
let stack: Stack;
before(async () => {
  stack = await startStack();
});
after(() => stack?.stop());

test("ten thousand totals are added up at once, and not one more", async () => {
  const { address, key, keyId } = await stack.account(1_000_000_000);
  // The gateway's thread writes to the tables too.
  stack.database.exec("PRAGMA busy_timeout = 60000");
  const insert = stack.database.prepare(
    "INSERT INTO total_row (partition, id, requests, charge_nano_usd, prompt_tokens, completion_tokens) VALUES (?, ?, 1, 2, 3, 4)",
  );
  const add = (n: number): unknown => insert.run(`account:${address}`, `2026-11-01 ${keyId} model-${n}`);
  stack.database.exec("BEGIN IMMEDIATE");
  for (let n = 0; n < 10_000; n++) add(n);
  stack.database.exec("COMMIT");
  const path = "/api/v1/activity?group_by=day&from=2026-11-01&to=2026-11-01";
  const read = async (asked: string) => {
    const answer = await stack.call(asked, { key });
    const { data } = (await answer.json()) as { data?: Record<string, unknown>[] };
    return { status: answer.status, data: data ?? [] };
  };
  const [total, ...others] = (await read(path)).data;
  assert.deepEqual(
    [total?.requests, total?.usage_nano_usd, total?.completion_tokens, others],
    [10_000, 20_000, 40_000, []],
  );
  add(10_000);
  assert.equal((await read(path)).status, 400);
  assert.equal((await read(`${path}&model=model-7`)).data[0]?.requests, 1, "one model's are few");
});
