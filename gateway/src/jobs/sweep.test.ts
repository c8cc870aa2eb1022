import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import type { ReceiptRow } from "@inference/ledger/tables";
import { createKey, hear } from "@inference/ledger/testing/example";
import type { Model } from "@inference/protocol/model";
import { type Fixture, NOW, openFixture, PRIMARY } from "../../test/identity-fixture.ts";
import { makePriceList } from "../catalogue/price-list.ts";
import { limits } from "../config.ts";
import type { AnswerDetail } from "../inference/charge/receipt.ts";
import { sweep } from "./sweep.ts";

const USD = 1_000_000_000;
const AMOUNT = 1_000_000;
const model: Model = {
  id: "m",
  created: 0,
  ownedBy: "",
  price: { kind: "text", rates: { input: 1_000n * 1_000_000_000n, output: 1_000n * 1_000_000_000n } },
  contextTokens: null,
  maxOutputTokens: null,
  features: {},
} as Model;
const pricesOfHolds = new Map([[model.id, model.price]]);
const detail: AnswerDetail = { route: "chat", model: "m", snapshot: "s", stream: true };

type Told = Record<string, unknown>[];
type Swept = Fixture & { alerts: Told; losses: Told; records: (() => Promise<string | null>)[] };

async function open(): Promise<Swept> {
  const fixture = openFixture();
  const alerts: Told = [];
  const losses: Told = [];
  fixture.gateway.environment.log = (level, event, fields) => {
    if (level === "alert") (event === "loss" ? losses : alerts).push({ event, ...fields });
  };
  fixture.gateway.prices.byId = async (id) => (id === "s" ? pricesOfHolds : undefined);
  await fixture.ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000 * USD }));
  return { ...fixture, alerts, losses, records: [] };
}

let accounts = 0;

/** A request of an account of its own, checkpointed with its provider's id. */
async function hold(
  { ledger, time }: Fixture,
  id: string,
  delivered = 7,
  kept: object = detail,
): Promise<() => ReceiptRow | undefined> {
  accounts += 1;
  const owner = accountPartition(`0x${accounts.toString(16).padStart(40, "0")}`);
  const at = time.now;
  await ledger.run(function* () {
    yield* send(owner, hear(USD, { at }));
    yield* send(owner, createKey("k", { at, digest: "d", nonceExpiresAt: at }));
  });
  const payer = { kind: "key", digest: "d" } as const;
  const chain = chainPartition(PRIMARY);
  const reservation = { id, at, owner, payer, amountNanoUsd: AMOUNT, leaseMs: limits.leaseMs, chain };
  const admission = await ledger.run(() => reserveRequest({ ...reservation, detail: JSON.stringify(kept) }));
  assert.equal(admission.status, "reserved");
  const written = { deliveredNanoUsd: delivered, upstreamId: `answer-${id}` };
  await ledger.run(() => send(owner, { type: "checkpoint", id, ...written }));
  return () => ledger.rows(owner).get("receipt", id);
}

/** A receipt of the account that was made last. */
function receiptOf({ ledger }: Fixture, id: string): ReceiptRow {
  const receipt = ledger.rows(accountPartition(`0x${accounts.toString(16).padStart(40, "0")}`)).get("receipt", id);
  assert.ok(receipt !== undefined);
  return receipt;
}

function historyRow(id: string, promptTokens: number, completionTokens: number): object {
  return { inferenceDetails: { requestId: `answer-${id}`, promptTokens, completionTokens } };
}

test("the hold of a live request is not the sweeper's, however old it is", async () => {
  const swept = await open();
  const row = await hold(swept, "live");
  swept.gateway.live.add("live");
  swept.time.now += limits.leaseMs + 1;
  await sweep(swept.gateway);
  assert.equal(row()?.state, "open");
  swept.gateway.live.delete("live");
  await sweep(swept.gateway);
  assert.deepEqual([row()?.state, row()?.chargeNanoUsd], ["settled", 7]);
});

for (const { name, stream, delivered } of [
  { name: "a whole answer of which nothing was delivered", stream: false, delivered: 0 },
  { name: "a whole answer that was sent in part", stream: false, delivered: 300 },
  { name: "a stream of which nothing was delivered", stream: true, delivered: 0 },
  { name: "a stream that was delivered in part", stream: true, delivered: 50 },
]) {
  test(`what the provider may bill for ${name}, up to the hold, is charged or a loss`, async () => {
    const chargeNanoUsd = delivered;
    const lossNanoUsd = AMOUNT - delivered;
    const kept = { ...detail, stream };
    const swept = await open();
    const row = await hold(swept, "cut", delivered, kept);
    swept.time.now += limits.leaseMs + 1;
    await sweep(swept.gateway);
    assert.equal(row()?.chargeNanoUsd, chargeNanoUsd);
    const receipt = receiptOf(swept, "cut");
    assert.deepEqual([receipt.chargeNanoUsd, receipt.lossNanoUsd], [chargeNanoUsd, lossNanoUsd]);
    assert.deepEqual(
      swept.losses.map((loss) => [loss.request, loss.lossNanoUsd]),
      [["cut", lossNanoUsd]],
    );
    const { chargedNanoUsd, lostNanoUsd } = swept.gateway.metrics.counts;
    assert.deepEqual([chargedNanoUsd, lostNanoUsd], [chargeNanoUsd, lossNanoUsd]);
  });
}

test("holds that stay as they are do not keep the sweeper from those behind them", async () => {
  const swept = await open();
  for (let index = 0; index < 300; index++) {
    await hold(swept, `live-${index}`);
    swept.gateway.live.add(`live-${index}`);
  }
  swept.time.now += 1;
  const behind = await hold(swept, "behind");
  swept.time.now += limits.leaseMs + 1;
  await sweep(swept.gateway);
  assert.equal(behind()?.state, "settled");
  assert.deepEqual(swept.alerts, []);
});

for (const [name, text] of Object.entries({
  "not JSON": "<html>",
  "JSON null": "null",
  "a list of null": '{"data":[null]}',
  "a number": "1",
})) {
  test(`a record that is ${name} is no record`, async () => {
    const swept = await open();
    swept.gateway.config = {
      ...swept.gateway.config,
      upstream: { ...swept.gateway.config.upstream, recordUrl: "{id}" },
    };
    swept.gateway.provider.record = async () => text;
    const row = await hold(swept, "cut");
    swept.time.now += limits.leaseMs + 1;
    await sweep(swept.gateway);
    assert.equal(row()?.state, "orphaned");
    swept.time.now += limits.orphanGraceMs + 1;
    await sweep(swept.gateway);
    assert.deepEqual([row()?.state, row()?.chargeNanoUsd], ["settled", 7]);
    assert.deepEqual(swept.alerts, []);
  });
}

test("a history is read once for all, and again for what may lie beyond its page", async () => {
  const swept = await open();
  const { gateway, time } = swept;
  gateway.config = { ...gateway.config, upstream: { ...gateway.config.upstream, recordUrl: "{since}" } };
  const first = await hold(swept, "first");
  time.now += 1_000;
  const second = await hold(swept, "second");
  time.now += 1_000;
  const third = await hold(swept, "third");
  const reads: number[] = [];
  gateway.provider.record = async ({ admittedAt }) => {
    reads.push(admittedAt);
    return admittedAt === NOW
      ? JSON.stringify({ data: [historyRow("first", 1, 2), historyRow("second", 3, 4)], nextCursor: "more" })
      : JSON.stringify({ data: [historyRow("third", 5, 6)], nextCursor: null });
  };
  time.now += limits.leaseMs + 1;
  await sweep(gateway);
  assert.deepEqual(
    [first, second, third].map((row) => [row()?.state, row()?.chargeNanoUsd]),
    [3, 7, 11].map((tokens) => ["settled", tokens * 1_000]),
  );
  assert.deepEqual(reads, [NOW, NOW + 2_000]);
});

test("eight records are read at a time, and a sweep begins with no more once its time is over", async () => {
  const swept = await open();
  const { gateway, time } = swept;
  gateway.config = { ...gateway.config, upstream: { ...gateway.config.upstream, recordUrl: "{id}" } };
  for (let index = 0; index < 40; index++) await hold(swept, `many-${index}`);
  let reading = 0;
  let most = 0;
  let reads = 0;
  gateway.provider.record = async () => {
    reads += 1;
    reading += 1;
    most = Math.max(most, reading);
    await new Promise((resolve) => setImmediate(resolve));
    reading -= 1;
    if (reads === 16) time.now += limits.sweepMs;
    return null;
  };
  time.now += limits.leaseMs + 1;
  await sweep(gateway);
  assert.equal(most, 8);
  assert.ok(reads >= 16 && reads < 32, `${reads} reads`);
});

test("a record of more than the hold could ever pay for is none; a little more is the hold, and a loss", async () => {
  const swept = await open();
  const { gateway, time } = swept;
  gateway.config = { ...gateway.config, upstream: { ...gateway.config.upstream, recordUrl: "{since}" } };
  const absurd = await hold(swept, "absurd");
  const above = await hold(swept, "above");
  gateway.provider.record = async () =>
    JSON.stringify({ data: [historyRow("absurd", 1, 5_000_000), historyRow("above", 1, 2_000)], nextCursor: null });
  time.now += limits.leaseMs + 1;
  await sweep(gateway);
  time.now += limits.orphanGraceMs + 1;
  await sweep(gateway);
  assert.deepEqual([absurd()?.state, absurd()?.chargeNanoUsd], ["settled", 7]);
  assert.deepEqual([above()?.state, above()?.chargeNanoUsd], ["settled", AMOUNT]);
  assert.deepEqual(swept.losses.map(({ request, lossNanoUsd }) => [request, lossNanoUsd]).sort(), [
    ["above", 2_001 * 1_000 - AMOUNT],
    ["absurd", AMOUNT - 7],
  ]);
});

/** A sweeper with the gateway's prices and a provider that has a record of every answer. */
async function openPriced(): Promise<Swept> {
  const swept = await open();
  const { gateway } = swept;
  gateway.config = { ...gateway.config, upstream: { ...gateway.config.upstream, recordUrl: "{since}" } };
  gateway.prices = makePriceList(gateway.config, gateway.environment, gateway.provider);
  gateway.provider.record = async () => JSON.stringify({ data: [historyRow("cut", 1, 2)], nextCursor: null });
  return swept;
}

const prices = JSON.stringify({
  data: [{ id: "m", type: "text", pricing: { prompt: "0.000001", completion: "0.000001" } }],
});

function keepPrices({ keyValue }: Awaited<ReturnType<typeof openPriced>>, value: string): void {
  keyValue.set("price-list:s", { value, expiresAt: undefined });
}

test("a record is priced as its hold was made", async () => {
  const swept = await openPriced();
  keepPrices(swept, prices);
  const row = await hold(swept, "cut");
  swept.time.now += limits.leaseMs + 1;
  await sweep(swept.gateway);
  assert.deepEqual([row()?.state, row()?.chargeNanoUsd], ["settled", 3 * 1_000]);
  assert.deepEqual(swept.alerts, []);
});

for (const [what, kept] of Object.entries({
  "are not kept any more": undefined,
  "cannot be read": prices.slice(1),
  "are of an unknown kind": prices.replace("text", "video"),
  "are none": prices.replace('"0.000001"', '"a little"'),
  "do not have the model": prices.replace('"m"', '"n"'),
})) {
  test(`where the prices of a hold ${what}, its checkpoint decides, and the operator is told once`, async () => {
    const swept = await openPriced();
    if (kept !== undefined) keepPrices(swept, kept);
    const proven = await hold(swept, "cut");
    const unproven = await hold(swept, "nothing", 0);
    swept.time.now += limits.leaseMs + 1;
    for (let times = 0; times < 3; times++) await sweep(swept.gateway);
    assert.deepEqual([proven()?.state, proven()?.chargeNanoUsd], ["settled", 7]);
    assert.deepEqual([unproven()?.state, unproven()?.chargeNanoUsd], ["released", 0]);
    assert.deepEqual(swept.alerts.map(({ event, request }) => [event, request]).sort(), [
      ["record_unpriced", "cut"],
      ["record_unpriced", "nothing"],
    ]);
  });
}

test("a store that does not answer is asked again, and a record counts once its prices are read", async () => {
  const swept = await openPriced();
  const { gateway, time } = swept;
  const { get } = gateway.environment.keyValue;
  gateway.environment.keyValue.get = async () => {
    throw new Error("no");
  };
  const row = await hold(swept, "cut");
  time.now += limits.leaseMs + 1;
  await sweep(gateway);
  time.now += limits.orphanGraceMs + 1;
  for (let times = 0; times < 5; times++, time.now += 60_000) await sweep(gateway);
  assert.equal(row()?.state, "orphaned");
  keepPrices(swept, prices);
  gateway.environment.keyValue.get = get;
  await sweep(gateway);
  assert.deepEqual([row()?.state, row()?.chargeNanoUsd], ["settled", 3 * 1_000]);
  assert.deepEqual(swept.alerts, []);
});

test("a store that does not answer for long keeps no hold for more than a quarter of an hour", async () => {
  const swept = await openPriced();
  const { gateway, time } = swept;
  gateway.environment.keyValue.get = async () => {
    throw new Error("no");
  };
  const row = await hold(swept, "cut");
  time.now += limits.leaseMs + 1;
  const lapsedAt = time.now;
  for (; row()?.state !== "settled" && time.now < lapsedAt + 60 * 60_000; time.now += 5_000) await sweep(gateway);
  assert.equal(row()?.chargeNanoUsd, 7);
  assert.ok(time.now < lapsedAt + 15 * 60_000, `${time.now - lapsedAt} ms`);
  assert.deepEqual(
    swept.alerts.map(({ event }) => event),
    ["record_unpriced"],
  );
});
