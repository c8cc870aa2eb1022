import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { priceLines } from "./price-lines.ts";

const pricing = {
  prompt: "0.00000025",
  completion: "0.000001",
  input_cache_read: "0.00000006",
  extended: { above_prompt_tokens: 200_000, prompt: "0.0000005", completion: "0.000002" },
};
const receipt = (fields: object) =>
  ({ basis: "usage", native_tokens_cached: null, native_tokens_cache_write: null, ...fields }) as never;

test("the lines of a receipt multiply out to its charge", () => {
  const used = { tokens_prompt: 34_072, native_tokens_cached: 26_069, tokens_completion: 1_738 };
  deepEqual(priceLines(receipt({ ...used, charge_nano_usd: 5_302_890 }), pricing), [
    { title: "Input", quantity: 8_003, price: "$0.25", amount: "$0.00200075" },
    { title: "Cached input", quantity: 26_069, price: "$0.06", amount: "$0.00156414" },
    { title: "Output", quantity: 1_738, price: "$1.00", amount: "$0.00173800" },
  ]);
});

test("above the tier every token has its price", () => {
  const used = { tokens_prompt: 200_001, tokens_completion: 1, charge_nano_usd: 100_002_500 };
  deepEqual(
    priceLines(receipt(used), pricing)?.map(({ price }) => price),
    ["$0.50", "$2.00"],
  );
});

test("there are no lines for a charge that they do not explain", () => {
  const used = { tokens_prompt: 1, tokens_completion: 1, charge_nano_usd: 1_250 };
  equal(priceLines(receipt(used), pricing)?.length, 2);
  equal(priceLines(receipt({ ...used, charge_nano_usd: 1_251 }), pricing), null);
  equal(priceLines(receipt({ ...used, basis: "hold" }), pricing), null);
  equal(priceLines(receipt({ ...used, tokens_prompt: null }), pricing), null);
  equal(priceLines(receipt(used), { image: "0.01" }), null);
});
