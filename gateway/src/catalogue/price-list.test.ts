import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { PriceSnapshot } from "@inference/protocol/model";
import { openFixture } from "../../test/identity-fixture.ts";
import { limits, type UpstreamConfig } from "../config.ts";
import { UpstreamFailure } from "../environment.ts";
import { CatalogueError } from "./catalogue-error.ts";
import { makePriceList } from "./price-list.ts";

function open(upstream: Partial<UpstreamConfig> = {}, { gateway, time, keyValue } = openFixture()) {
  const config = { ...gateway.config, upstream: { ...gateway.config.upstream, pricesFile: null, ...upstream } };
  const waiting: { resolve(text: string): void; reject(error: Error): void }[] = [];
  let reads = 0;
  const prices = makePriceList(config, gateway.environment, {
    ...gateway.provider,
    read() {
      reads += 1;
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
      });
    },
  });
  const answer = (text = catalogue): void => waiting.shift()?.resolve(text);
  const fail = (): void => waiting.shift()?.reject(new UpstreamFailure("sent", "it is away"));
  async function refresh(text?: string): Promise<PriceSnapshot> {
    const refreshed = prices.refresh();
    answer(text);
    return refreshed;
  }
  return { prices, time, keyValue, answer, fail, refresh, reads: () => reads };
}

const catalogue = JSON.stringify({
  data: [{ id: "m", context_length: 1_000, pricing: { prompt: "0.000001", completion: "0.000002" }, architecture: {} }],
});

test("who asks while the catalogue is being read joins in", async () => {
  const { prices, answer, reads } = open();
  const both = [prices.refresh(), prices.refresh()];
  answer();
  const [one, other] = await Promise.all(both);
  assert.equal(one, other);
  assert.equal(reads(), 1);
  const again = prices.refresh();
  assert.equal(reads(), 2);
  answer();
  await again;
});

test("a model that is gone causes one reading in a while", async () => {
  const { prices, time, answer, reads } = open();
  const first = prices.refresh();
  answer();
  await first;
  await prices.modelGone();
  assert.equal(reads(), 1);
  time.now += limits.goneModelRefreshMs;
  const gone = Promise.all([prices.modelGone(), prices.modelGone()]);
  assert.equal(reads(), 2);
  answer();
  await gone;
});

test("without prices, or with old ones alone, nobody is charged, and everybody is told to come again", async () => {
  const { prices, time, answer } = open();
  const said = /^The provider's prices are not known.* Nothing was charged\. Retry in a few seconds\.$/;
  assert.throws(() => prices.current(), { message: said });
  const read = prices.refresh();
  answer();
  await read;
  time.now += limits.catalogueMaxAgeMs;
  assert.equal(prices.current().models.size, 1);
  time.now += 1;
  assert.throws(() => prices.current(), { message: said });
});

test("a price file stays in force without the provider's list, and follows the last one that it gave", async () => {
  const row = (id: string) => ({ id, type: "text", usd_per_million_tokens: { input: "1", output: "2" } });
  const { prices, refresh, fail } = open({ pricesFile: JSON.stringify({ models: [row("m"), row("n")] }) });
  const read = async (text: string | null) => {
    const refreshed = text === null ? prices.refresh() : refresh(text);
    if (text === null) fail();
    return [[...(await refreshed).models.keys()], prices.unlisted()];
  };
  assert.deepEqual(await read(null), [["m", "n"], []]);
  assert.deepEqual(await read(catalogue), [["m"], ["n"]]);
  assert.deepEqual(await read(null), [["m"], ["n"]]);
  assert.deepEqual(await read('{"data":[{"id":"n"},{"id":"m"}]}'), [["m", "n"], []]);
});

test("the stored prices have the snapshot's digest, and another gateway with other settings reads them", async () => {
  const fixture = openFixture();
  const { id } = await open({}, fixture).refresh();
  const { prices } = open({ catalogueShape: "model-spec" }, fixture);
  const text = (await prices.textOf(id)) ?? "";
  assert.ok(createHash("sha256").update(text).digest("hex").startsWith(id));
  assert.deepEqual(
    [...((await prices.byId(id)) ?? [])],
    [["m", { kind: "text", rates: { input: 10n ** 12n, output: 2n * 10n ** 12n } }]],
  );
  assert.equal(await prices.byId("never"), undefined);
});

test("stored prices that cannot be read are an error, and not other prices", async () => {
  const { prices, keyValue } = open();
  keyValue.set("price-list:before", { value: catalogue, expiresAt: undefined });
  await assert.rejects(prices.byId("before"), CatalogueError);
});

test("prices are in force while the store does not answer", async () => {
  const fixture = openFixture();
  fixture.gateway.environment.keyValue.get = () => new Promise(() => undefined);
  const { refresh, prices } = open({}, fixture);
  const { id } = await refresh();
  assert.equal(prices.current().id, id);
  assert.notEqual(await prices.textOf(id), undefined);
});

test("prices are stored once, and stay", async () => {
  const { refresh, calls, store, stored } = withStore();
  const { id } = await refresh();
  await stored();
  for (let times = 0; times < 3; times += 1) await refresh();
  await stored();
  assert.deepEqual(calls, [`get ${keyOf(id)}`, `put ${keyOf(id)}`]);
  assert.equal(store.get(keyOf(id))?.expiresAt, undefined);
});

test("a provider's list that cannot be read leaves the price file in force, and the last good list", async () => {
  const row = (id: string) => ({ id, type: "text", usd_per_million_tokens: { input: "1", output: "2" } });
  const { prices, refresh } = open({ pricesFile: JSON.stringify({ models: [row("a"), row("b")] }) });
  const listed = (...ids: string[]) => JSON.stringify({ data: ids.map((id) => ({ id })) });
  const steps: [string, string[]][] = [
    ["<html>", ["a", "b"]],
    [listed("a"), ["a"]],
    ["<html>", ["a"]],
    [listed(), ["a"]],
    [listed("b"), ["b"]],
  ];
  for (const [answer, served] of steps) {
    await refresh(answer);
    assert.deepEqual([...prices.current().models.keys()], served, answer);
  }
});

test("a model whose usage exceeds its bound three times is not served again, and its prices stay readable", async () => {
  const permitting = open({ probe: "warn" });
  await permitting.refresh();
  for (let n = 0; n < 4; n++) permitting.prices.exceededBound("m");
  assert.equal(permitting.prices.current().models.size, 1);
  const { prices, refresh } = open({ probe: "strict" });
  const { id } = await refresh();
  for (const left of [1, 1, 0]) {
    prices.exceededBound("m");
    assert.equal(prices.current().models.size, left);
  }
  const again = await refresh();
  assert.deepEqual([again.id, again.models.size], [id, 0]);
  assert.match((await prices.textOf(id)) ?? "", /"m"/);
});

test("prices that another gateway has stored are not written again", async () => {
  const first = withStore();
  const { id } = await first.refresh();
  await first.stored();
  const second = withStore(first.fixture);
  await second.refresh();
  await second.stored();
  assert.deepEqual(second.calls, [`get ${keyOf(id)}`]);
});

test("while the store refuses writes, prices are in force, readable, and written again after each read", async () => {
  const { refresh, prices, calls, store, stored, refuse } = withStore();
  refuse(true);
  const { id } = await refresh();
  await stored();
  const { id: second } = await refresh(catalogue.replace("0.000002", "0.000003"));
  await stored();
  assert.equal(prices.current().id, second);
  assert.match((await prices.textOf(id)) ?? "", /000002/);
  assert.deepEqual([...store.keys()], []);
  refuse(false);
  await refresh();
  await stored();
  assert.deepEqual([...store.keys()].sort(), [keyOf(id), keyOf(second)].sort());
  assert.equal(calls.filter((call) => call.startsWith("put")).length, 5);
});

const keyOf = (id: string): string => `price-list:${id}`;

/** A list whose calls of the key-value store are written down. */
function withStore(fixture = openFixture()) {
  const { environment } = fixture.gateway;
  const { get, put } = environment.keyValue;
  const calls: string[] = [];
  const background: Promise<unknown>[] = [];
  let refuses = false;
  environment.background = (work) => void background.push(work);
  environment.keyValue.get = (key) => {
    calls.push(`get ${key}`);
    return get(key);
  };
  environment.keyValue.put = async (...given) => {
    calls.push(`put ${given[0]}`);
    if (refuses) throw new Error("429 Too Many Requests");
    await put(...given);
  };
  return {
    ...open({}, fixture),
    fixture,
    calls,
    store: fixture.keyValue,
    stored: () => Promise.all(background),
    refuse(value: boolean): void {
      refuses = value;
    },
  };
}
