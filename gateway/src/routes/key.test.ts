import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { admit, hear, reserve, settle } from "@inference/ledger/testing/example";
import { makeWallet, openFixture } from "../../test/identity-fixture.ts";

/** GET /api/v1/key: usage per window, and the limit that binds first. */
const USD = 1_000_000_000;
const DAY = 86_400_000;

async function openKey(balance: number, ceiling: number, query = "") {
  const fixture = openFixture();
  const wallet = makeWallet();
  const { key } = await fixture.makeKey(wallet, query);
  const partition = accountPartition(wallet.address);
  const payer = { kind: "key", digest: fixture.gateway.credentials.verify(key)?.payer.digest ?? "" } as const;
  const at = () => fixture.time.now;
  fixture.ledger.apply(partition, hear(balance, { at: at() }));
  fixture.ledger.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceiling });
  let made = 0;
  return {
    fixture,
    spend(amountNanoUsd: number, chargeNanoUsd: number | null): void {
      made += 1;
      const id = `r${made}`;
      admit(fixture.ledger, partition, reserve(id, amountNanoUsd, { at: at(), payer }));
      if (chargeNanoUsd === null) return;
      fixture.ledger.apply(partition, { ...settle(id, chargeNanoUsd), at: at() });
      fixture.ledger.deliverAll();
    },
    async read(): Promise<Record<string, unknown>> {
      return (await fixture.call("GET", "/api/v1/key", { bearer: key })).body.data ?? {};
    },
  };
}

test("what a key used is told for its day and its month, whatever its limit's window", async () => {
  for (const query of ["", "?limit=5", "?limit=5&limit_reset=daily", "?limit=5&limit_reset=monthly"]) {
    const { fixture, spend, read } = await openKey(10 * USD, 100 * USD, query);
    spend(USD, USD);
    spend(USD, 2);
    fixture.time.now += DAY;
    spend(USD, 30);
    spend(USD, null);
    const { usage_daily, usage_daily_nano_usd, usage_monthly_nano_usd } = await read();
    assert.deepEqual([usage_daily, usage_daily_nano_usd, usage_monthly_nano_usd], [3e-8, 30, USD + 32], query);
    fixture.time.now += 20 * DAY;
    const later = await read();
    assert.deepEqual([later.usage_daily_nano_usd, later.usage_monthly_nano_usd], [0, 0], query);
  }
});

test("every budget that binds the key is told, with what is used, held and left", async () => {
  const { spend, read } = await openKey(10 * USD, 20 * USD, "?limit=5&limit_reset=daily");
  spend(USD, 2);
  spend(USD, null);
  const { budgets } = (await read()) as { budgets?: Record<string, unknown>[] };
  const told = (budgets ?? []).map((one) => [
    one.name,
    one.window,
    one.limit_nano_usd,
    one.usage_nano_usd,
    one.reserved_nano_usd,
    one.remaining_nano_usd,
    one.resets_at,
  ]);
  const midnight = "2026-11-22T00:00:00.000Z";
  assert.deepEqual(told, [
    ["balance", "lifetime", 10 * USD, 2, USD, 9 * USD - 2, null],
    ["key", "day", 5 * USD, 2, USD, 4 * USD - 2, midnight],
    ["ceiling", "day", 20 * USD, 2, USD, 19 * USD - 2, midnight],
  ]);
});

test("what binds first is the budget with the least left; a key without a limit never binds", async () => {
  const cases = [
    [3, 20, "?limit=5", "balance"],
    [10, 20, "?limit=5", "key"],
    [10, 4, "?limit=5", "ceiling"],
    [10, 20, "", "balance"],
    [30, 20, "", "ceiling"],
    [5, 5, "?limit=5", "balance"],
  ] as const;
  for (const [balance, ceiling, query, binds] of cases) {
    const { read } = await openKey(balance * USD, ceiling * USD, query);
    assert.equal((await read()).binds_first, binds, `${balance} ${ceiling} ${query}`);
  }
});
