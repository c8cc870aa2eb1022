import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import type { Model, Price, TokenRates } from "@inference/protocol/model";
import fc from "fast-check";
import { CatalogueError } from "./catalogue-error.ts";
import { priceText, readPriceText, snapshotId } from "./price-text.ts";

const atto = fc.bigInt({ min: 0n, max: 10n ** 21n });
const name = fc.string({ minLength: 1, maxLength: 8 });
const plain = { noNullPrototype: true };
const rates = fc.record(
  { input: atto, output: atto, cacheRead: atto, cacheWrite: atto },
  { requiredKeys: ["input", "output"], ...plain },
) as fc.Arbitrary<TokenRates>;
const table = fc.dictionary(name, atto, { minKeys: 1, ...plain });
const kinds: Record<string, Record<string, fc.Arbitrary<unknown>>> = {
  text: { rates },
  extended: { rates, extended: fc.record({ thresholdTokens: fc.nat(), rates }, plain) },
  embedding: { input: atto },
  speech: { character: atto },
  image: { byResolution: fc.record({ "*": atto }, plain) },
  images: {
    byResolution: table.filter((prices) => !Object.hasOwn(prices, "*")),
    byQuality: fc.dictionary(name, table, plain),
  },
};
const kindOf: Record<string, Price["kind"]> = { extended: "text", images: "image" };
const price = fc.oneof(
  ...Object.entries(kinds).map(([name, fields]) =>
    fc.record({ kind: fc.constant(kindOf[name] ?? name), ...fields }, plain),
  ),
) as unknown as fc.Arbitrary<Price>;
const models = fc.uniqueArray(
  fc.record({ id: name, price }).map(({ id, price }) => ({ id, price }) as Model),
  { selector: ({ id }) => id },
);

test("prices are read from their text as they were", () => {
  fc.assert(
    fc.property(models, (models) => {
      const read = readPriceText(priceText(models));
      deepEqual(read, new Map(models.map(({ id, price }) => [id, price])));
    }),
  );
});

test("the same prices have the same id in any order, and other prices another", () => {
  fc.assert(
    fc.property(models, fc.nat(), (models, at) => {
      const id = snapshotId(priceText(models));
      equal(snapshotId(priceText([...models].reverse())), id);
      equal(id.length, 32);
      const changed = models[at % Math.max(1, models.length)];
      const others = models.filter((model) => model !== changed);
      if (changed !== undefined) equal(snapshotId(priceText(others)) === id, false);
    }),
  );
});

test("a text without an amount is no price of zero", () => {
  for (const prompt of [undefined, "", "a", "-1", 0, null, "1e-6"]) {
    const text = JSON.stringify({ data: [{ id: "m", type: "text", pricing: { prompt, completion: "1" } }] });
    throws(() => readPriceText(text), CatalogueError);
  }
});
