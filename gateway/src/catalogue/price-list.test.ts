import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { PriceSnapshot } from "@inference/protocol/model";
import { openFixture } from "../../test/identity-fixture.ts";
import { limits, type UpstreamConfig } from "../config.ts";
import { CatalogueError } from "./catalogue-error.ts";
import { makePriceList } from "./price-list.ts";

function open(upstream: Partial<UpstreamConfig> = {}, { gateway, time, keyValue } = openFixture()) {
  const config = { ...gateway.config, upstream: { ...gateway.config.upstream, pricesFile: null, ...upstream } };
  const waiting: ((text: string) => void)[] = [];
  let reads = 0;
  const prices = makePriceList(config, gateway.environment, {
    ...gateway.provider,
    read() {
      reads += 1;
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  });
  const answer = (): void => waiting.shift()?.(catalogue);
  async function refresh(): Promise<PriceSnapshot> {
    const refreshed = prices.refresh();
    answer();
    return refreshed;
  }
  const { environment } = gateway;
  const { receiptMs } = config.operator;
  return { prices, time, keyValue, environment, receiptMs, answer, refresh, reads: () => reads };
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

test("prices are kept a week longer than the receipts that name them", async () => {
  const { time, keyValue, environment, refresh, prices, receiptMs } = open();
  const day = 24 * 3_600_000;
  const { put } = environment.keyValue;
  let puts = 0;
  environment.keyValue.put = async (...given) => {
    puts += 1;
    await put(...given);
  };
  const { id } = await refresh();
  for (let until = time.now + 30 * day; time.now < until; time.now += limits.catalogueRefreshMs) {
    await refresh();
    const expiresAt = keyValue.get(`price-list:${id}`)?.expiresAt ?? 0;
    const least = time.now + receiptMs + 6 * day - limits.catalogueRefreshMs;
    assert.ok(expiresAt > least, `gone at ${expiresAt}, and it is ${time.now}`);
  }
  assert.equal(puts, 30, "once a day");
  // While the store takes nothing, what is kept is in force all the same.
  environment.keyValue.put = async () => {
    throw new Error("no");
  };
  time.now += day;
  await assert.rejects(refresh());
  assert.equal(prices.current().id, id);
});
