import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../config.ts";
import { openFixture } from "../identity/testing/identity-fixture.ts";
import { makePriceList } from "./price-list.ts";

function open() {
  const { gateway, time } = openFixture();
  const config = { ...gateway.config, upstream: { ...gateway.config.upstream, pricesFile: null } };
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
  return { prices, time, answer, reads: () => reads };
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
