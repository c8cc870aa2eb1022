import assert from "node:assert/strict";
import { test } from "node:test";
import type { PriceSnapshot } from "@inference/protocol/model";
import { openFixture } from "../../test/identity-fixture.ts";
import { limits, type UpstreamConfig } from "../config.ts";
import { CatalogueError } from "./catalogue.ts";
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
  return { prices, time, keyValue, environment: gateway.environment, answer, refresh, reads: () => reads };
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

const pricesFile = JSON.stringify({
  models: [{ id: "m", type: "text", usd_per_million_tokens: { input: "1", output: "2" } }],
});
const shapes: Record<string, Partial<UpstreamConfig>> = {
  "a catalogue found out to be of that shape": {},
  "a catalogue said to be of that shape": { catalogueShape: "per-token" },
  "a catalogue said to be of another shape": { catalogueShape: "model-spec" },
  "a price file": { pricesFile },
};
for (const [before, written] of Object.entries(shapes)) {
  if (written.catalogueShape === "model-spec") continue;
  for (const [today, upstream] of Object.entries(shapes)) {
    test(`prices of ${before} are read again by a gateway that has ${today}`, async () => {
      const fixture = openFixture();
      const { id, models } = await open(written, fixture).refresh();
      const { prices } = open(upstream, fixture);
      const read = await prices.byId(id);
      assert.deepEqual(read?.models, models);
      assert.equal(models.size, 1);
    });
  }
}

test("what is written down is the provider's text itself, which every version reads", async () => {
  const { keyValue, refresh } = open();
  const { id } = await refresh();
  assert.equal(keyValue.get(`prices:${id}`)?.value, catalogue);
});

test("prices that were written down without their shape are read in today's, or not at all", async () => {
  const { prices, keyValue } = open();
  keyValue.set("prices:before", { value: catalogue, expiresAt: undefined });
  assert.equal((await prices.byId("before"))?.models.size, 1);
  const other = open({ catalogueShape: "prices-file" });
  other.keyValue.set("prices:before", { value: catalogue, expiresAt: undefined });
  await assert.rejects(other.prices.byId("before"), CatalogueError);
  assert.equal(await other.prices.byId("never"), undefined);
});

test("prices in force are kept for as long as they are, and a week longer", async () => {
  const { time, keyValue, environment, refresh, prices } = open();
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
    const expiresAt = keyValue.get(`prices:${id}`)?.expiresAt ?? 0;
    assert.ok(
      expiresAt > time.now + 6 * day - limits.catalogueRefreshMs,
      `gone at ${expiresAt}, and it is ${time.now}`,
    );
  }
  assert.equal(puts, 2 * 30, "the text and its shape, once a day");
  // While the store takes nothing, what is kept is in force all the same.
  environment.keyValue.put = async () => {
    throw new Error("no");
  };
  time.now += day;
  await assert.rejects(refresh());
  assert.equal(prices.current().id, id);
});
