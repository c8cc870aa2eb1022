import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import { type Edge, eventually, startEdge } from "./testing/edge.ts";
import { type ShiftedClock, shiftedClock } from "./testing/shifted-clock.ts";

/** What the conformance suite's file of this name asks of the other host, under a clock that is set from outside. */
let edge: Edge;
let clock: ShiftedClock;
before(async () => {
  edge = await startEdge({}, { entry: new URL("testing/shifted-worker.ts", import.meta.url) });
  clock = shiftedClock(edge);
});
after(() => edge?.stop());

const address = (last: string): Address => `0x${last.padStart(40, "0")}`;

function ask(key: string, markers: string): Promise<Response> {
  return edge.chat(key, { stream: true, messages: [{ role: "user", content: `Harbours. ${markers.padEnd(40)}` }] });
}

type Data = {
  usage_nano_usd: number;
  total_usage_nano_usd: number;
  charge_nano_usd: number;
  ceiling: { settled_nano_usd: number };
  prices: { snapshot: string };
};

async function dataOf(key: string, path: string): Promise<Data> {
  const response = await fetch(`${edge.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { data: Data }).data;
}

/** Once its stream is over. */
async function chargeOf(key: string, answer: Response): Promise<number> {
  assert.match(await answer.text(), /\[DONE\]/);
  const path = `/api/v1/generation?id=${answer.headers.get("x-request-id")}`;
  let charge = 0;
  await eventually(async () => {
    charge = (await dataOf(key, path)).charge_nano_usd;
  });
  assert.ok(charge > 0);
  return charge;
}

test("over midnight a request is settled on the day of its admission, with its key's limit of that day", async () => {
  const { key } = await edge.fund(address("1"), { window: "day" });
  const midnight = windowStart("day", Date.now()) + DAY_MS;
  await clock.goTo(midnight - 60_000);
  await (await ask(key, "[[tokens=1]]")).text();
  const settled = async () => ({
    key: (await dataOf(key, "/api/v1/key")).usage_nano_usd,
    ceiling: (await dataOf(key, "/api/v1/status")).ceiling.settled_nano_usd,
    all: (await dataOf(key, "/api/v1/credits")).total_usage_nano_usd,
  });
  let first = 0;
  await eventually(async () => {
    const { key, ceiling } = await settled();
    assert.ok(key > 0);
    assert.equal(ceiling, key);
    first = key;
  });
  await clock.goTo(midnight - 1_000);
  const stream = await ask(key, "[[tokens=10]][[drip=300]]");
  assert.ok(clock.now() < midnight, "it was not admitted in time");
  const charge = await chargeOf(key, stream);
  assert.ok(clock.now() > midnight, "it did not run across midnight");
  // The day that has begun has seen nothing of it.
  assert.deepEqual(await settled(), { key: 0, ceiling: 0, all: first + charge });
  await clock.goTo(midnight - 1_000);
  await eventually(async () =>
    assert.deepEqual(await settled(), { key: first + charge, ceiling: first + charge, all: first + charge }),
  );
});

test("a price that changes while a request runs is the next request's", async () => {
  const { key } = await edge.fund(address("2"));
  const before = await ask(key, "[[tokens=10]]");
  const once = await chargeOf(key, before);
  const { snapshot } = (await dataOf(key, "/api/v1/status")).prices;
  const during = await ask(key, "[[tokens=10]][[drip=200]]");
  const prices = { "sim-small": { input: { usd: 1.5 }, output: { usd: 6 } } };
  const config = { method: "POST", body: JSON.stringify({ prices }) };
  assert.equal((await fetch(`${edge.simulator.controlUrl}/config`, config)).status, 200);
  // Prices are read again every five minutes.
  await clock.goTo(clock.now() + 5 * 60_000);
  await eventually(async () => {
    assert.notEqual((await dataOf(key, "/api/v1/status")).prices.snapshot, snapshot);
  });
  const after = await ask(key, "[[tokens=10]]");
  assert.equal(await chargeOf(key, during), once);
  assert.equal(await chargeOf(key, after), once * 10);
});
