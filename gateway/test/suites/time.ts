import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { STAYED_MS } from "@inference/ledger/limits";
import { accountPartition } from "@inference/ledger/partition";
import type { NanoUsd } from "@inference/protocol/money";
import { eventually } from "@inference/protocol/testing/eventually";
import { windowEnd } from "@inference/protocol/window";
import { limits } from "../../src/config.ts";
import type { HostUnderTest, StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

const LIMIT_NANO_USD = 1_000_000_000;
/** Time enough to be admitted, on a busy machine too. */
const MINUTE_MS = 60_000;
const BEFORE_MS = 5 * MINUTE_MS;
/** A stream of three seconds, and one that lasts until prices have been read, on a busy machine too. */
const SLOWLY = "[[tokens=10]][[drip=300]]";
const MORE_SLOWLY = "[[tokens=10]][[drip=800]]";

/** Time as a customer meets it: for every host. */
export function testTime(startHost: StartHost): void {
  describe("a request belongs to the moment of its admission", () => {
    // It changes prices, and turns the clock back.
    const host = hostFor(startHost, { fresh: true });

    test("over midnight it is settled on the day before, with its key's limit of that day", async () => {
      const { key, address } = await host.account(LIMIT_NANO_USD, { window: "day", limitNanoUsd: LIMIT_NANO_USD });
      // That of a month's end, which ends two windows.
      const midnight = windowEnd("month", host.now()) ?? assert.fail("a month ends");
      await host.goTo(midnight - BEFORE_MS);
      const first = await chargeOf(host, key, await ask(host, key, "[[tokens=1]]"));

      const stream = await ask(host, key, SLOWLY);
      assert.ok(host.now() < midnight, "it was not admitted in time");
      await host.goTo(midnight + MINUTE_MS);
      assert.ok(await isHeld(host, key), "it did not run across midnight");
      const all = first + (await chargeOf(host, key, stream));

      // Where the ceiling is told after midnight, it has been told before anything is looked at.
      const told = midnight + STAYED_MS + 2 * MINUTE_MS;
      await host.goTo(told);
      await host.forget([accountPartition(address)]);
      await host.goTo(midnight - BEFORE_MS);
      await eventually(async () => (await booksOf(host, key)).ceiling === all);
      const left = LIMIT_NANO_USD - all;
      assert.deepEqual(await booksOf(host, key), { key: all, left, day: all, month: all, ceiling: all, held: 0, all });
      // The day that has begun has seen nothing of it. Prices were read at this time.
      await host.goTo(told);
      const unused = { key: 0, left: LIMIT_NANO_USD, day: 0, month: 0, ceiling: 0, held: 0 };
      assert.deepEqual(await booksOf(host, key), { ...unused, all });
    });

    test("a price that changes while it runs is the next request's", async () => {
      const key = (await host.account(LIMIT_NANO_USD)).key;
      const charge = await chargeOf(host, key, await ask(host, key, "[[tokens=10]]"));
      const { snapshot } = (await dataOf(host, key, "/status")).prices;

      const during = await ask(host, key, MORE_SLOWLY);
      const prices = { "sim-small": { input: { usd: 1.5 }, output: { usd: 6 } } };
      const config = { method: "POST", body: JSON.stringify({ prices }) };
      assert.equal((await fetch(`${host.simulator.controlUrl}/config`, config)).status, 200);
      await host.goTo(host.now() + limits.catalogueRefreshMs);
      await eventually(async () => (await dataOf(host, key, "/status")).prices.snapshot !== snapshot);
      assert.ok(await isHeld(host, key), "it was over before they were");

      const next = await ask(host, key, "[[tokens=10]]");
      assert.equal(await chargeOf(host, key, during), charge);
      assert.equal(await chargeOf(host, key, next), charge * 10);
    });
  });
}

/** A stream that was admitted. All are asked for with prompts of one length. */
async function ask(host: HostUnderTest, key: string, markers: string): Promise<Response> {
  const response = await fetch(`${host.url}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-small",
      max_tokens: 50,
      stream: true,
      messages: [{ role: "user", content: `Harbours. ${markers.padEnd(40)}` }],
    }),
  });
  if (response.status !== 200) assert.fail(`${response.status} ${await response.text()}`);
  return response;
}

/** Whether a request of this account has still to be settled. */
async function isHeld(host: HostUnderTest, key: string): Promise<boolean> {
  return (await dataOf(host, key, "/credits")).reserved_nano_usd > 0;
}

/** By its receipt, once it has come to its end. */
async function chargeOf(host: HostUnderTest, key: string, stream: Response): Promise<NanoUsd> {
  assert.match(await stream.text(), /data: \[DONE\]\n\n$/);
  const charge = await eventually(async () => {
    const response = await get(host, key, `/generation?id=${stream.headers.get("x-request-id")}`);
    return response.ok ? ((await response.json()) as { data: Data }).data.charge_nano_usd : false;
  });
  assert.ok(charge > 0, "it cost nothing");
  return charge;
}

/** The sums of the clock's day, for the key and for all accounts. */
async function booksOf(host: HostUnderTest, key: string) {
  const own = await dataOf(host, key, "/key");
  const { ceiling } = await dataOf(host, key, "/status");
  const credits = await dataOf(host, key, "/credits");
  return {
    key: own.usage_nano_usd,
    left: own.limit_remaining_nano_usd,
    day: own.usage_daily_nano_usd,
    month: own.usage_monthly_nano_usd,
    ceiling: ceiling.settled_nano_usd,
    held: ceiling.held_nano_usd + credits.reserved_nano_usd,
    all: credits.total_usage_nano_usd,
  };
}

type Data = {
  charge_nano_usd: number;
  usage_nano_usd: number;
  limit_remaining_nano_usd: number;
  usage_daily_nano_usd: number;
  usage_monthly_nano_usd: number;
  reserved_nano_usd: number;
  total_usage_nano_usd: number;
  ceiling: { settled_nano_usd: number; held_nano_usd: number };
  prices: { snapshot: string };
};

async function dataOf(host: HostUnderTest, key: string, path: string): Promise<Data> {
  const response = await get(host, key, path);
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { data: Data }).data;
}

function get(host: HostUnderTest, key: string, path: string): Promise<Response> {
  return fetch(`${host.url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
}
