import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { makeRequestId } from "@inference/protocol/id";
import { DAY_MS } from "@inference/protocol/window";
import { listedOnDays } from "./listed-costs.ts";
import { startStack } from "./testing/stack.ts";

/** A Node test, because it writes rows past the ledger: no suite can make so many. */
const stack = hostFor(startStack);

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

test("a day's cost at list prices is every charge and loss of it, of whoever, and of no other day", async () => {
  const start = Date.parse("2026-10-01");
  stack.database.exec("PRAGMA busy_timeout = 60000");
  const insert = stack.database.prepare(`INSERT INTO receipt_row (partition, id, state, admitted_at, lease_until,
    held_nano_usd, charge_nano_usd, loss_nano_usd, delivered_nano_usd, fingerprint, detail)
    VALUES (?, ?, 'settled', ?, 0, 0, ?, ?, 0, '', '{}')`);
  const add = (atMs: number, n: number, [charge, loss]: [number, number]): unknown => {
    const random = Buffer.alloc(10, 255);
    random.writeUInt32BE(n);
    const owner = n % 2 === 0 ? "account" : "identity";
    return insert.run(`${owner}:0x${n % 7}`, makeRequestId(atMs, random), atMs, charge, loss);
  };
  stack.database.exec("BEGIN IMMEDIATE");
  add(start - 1, 1, [1_000_000_000, 0]);
  add(start, 1, [10, 7]);
  for (let n = 0; n < 4_500; n++) add(start + n * 19_000, n, [2, 1]);
  add(start + DAY_MS - 1, 2, [100, 70]);
  add(start + DAY_MS, 2, [1_000_000_000, 0]);
  stack.database.exec("COMMIT");
  let now = start + 2 * DAY_MS;
  const listedOn = listedOnDays(stack.database, { ledger: stack.ledger, now: () => now, receiptMs: 2 * DAY_MS });
  assert.equal(await listedOn("2026-10-01"), 4_500 * 3 + 17 + 170);
  assert.equal(await listedOn("2026-10-05"), 0, "nothing was used");
  now += 1;
  assert.equal(await listedOn("2026-10-01"), null, "some of them may be forgotten");
});
