import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type AnswerText, tokensText } from "@inference/provider-simulator/tokens";
import { cents, goldenPrice, usageOf } from "../../test/metering/prices.ts";
import { deliveredTokens, nothingDelivered, quoteEmbedding, quoteImage, quoteSpeech, quoteText } from "./quote.ts";

const NANO = 1_000_000_000n;
const text = {
  snapshotId: "s",
  price: goldenPrice,
  promptTokens: 1000,
  choices: 2,
  maxTokens: 100,
  modelMaxTokens: 500,
};

test("a text's maximum is its prompt's bound and the output of all choices", () => {
  const quote = quoteText(text);
  assert.equal(quote.maxNanoUsd, 1000 * 1540 + 200 * 4840);
  assert.equal(quote.flatNanoUsd, null);
  assert.deepEqual(quote.bound, { promptTokens: 1000, completionTokens: 200 });
});

test("a usage above the bound is charged as it is: that the hold is the limit is not the quote's to hide", () => {
  const quote = quoteText(text);
  assert.ok(quote.chargeForUsage(usageOf({ promptTokens: 2000, completionTokens: 200 })) > quote.maxNanoUsd);
});

test("with a prompt that does not fit no token is affordable, and free tokens are limited by the model alone", () => {
  assert.equal(quoteText(text).affordableTokens(1_539_999), 0);
  assert.equal(quoteText(text).affordableTokens(1_540_000 + 2 * 4840), 1);
  assert.equal(quoteText(text).affordableTokens(0), 0);
  const free = quoteText({ ...text, price: { kind: "text", rates: { input: 0n, output: 0n } } });
  assert.equal(free.affordableTokens(0), 500);
  assert.equal(free.maxNanoUsd, 0);
});

test("an embedding costs its prompt tokens, and its bound if its usage is unknown and something came", () => {
  const quote = quoteEmbedding({ snapshotId: "s", price: { kind: "embedding", input: cents(2) }, promptTokens: 500 });
  assert.equal(quote.maxNanoUsd, 10_000);
  assert.equal(quote.chargeForUsage(usageOf({ promptTokens: 7 })), 140);
  assert.equal(quote.chargeForDelivered(nothingDelivered), 0);
  assert.equal(quote.chargeForDelivered({ bytes: 1, events: 0 }), 10_000);
  assert.equal(quote.affordableTokens(1), null);
});

test("images cost their count, and where the provider chooses, the dearest it may choose", () => {
  const price = {
    kind: "image" as const,
    byResolution: { "1K": 27n * NANO, "2K": 40n * NANO },
    byQuality: { "1K": { low: 5n * NANO, high: 26n * NANO }, "2K": { low: 9n * NANO } },
  };
  const image = { snapshotId: "s", price, resolution: "1K", quality: "low", count: 1 };
  assert.equal(quoteImage(image).maxNanoUsd, 5);
  assert.equal(quoteImage({ ...image, count: 4 }).flatNanoUsd, 20);
  assert.equal(quoteImage({ ...image, quality: undefined }).maxNanoUsd, 27);
  assert.equal(quoteImage({ ...image, resolution: "2K", quality: "high" }).maxNanoUsd, 40);
  assert.equal(quoteImage({ ...image, resolution: undefined, quality: undefined }).maxNanoUsd, 40);
  assert.equal(quoteImage(image).affordableTokens(1), null);
});

test("of several images, some blocked, at most all but one are charged", () => {
  const price = { kind: "image" as const, byResolution: { "1K": NANO } };
  const quote = quoteImage({ snapshotId: "s", price, resolution: "1K", quality: undefined, count: 4 });
  assert.equal(quote.chargeForDelivered({ bytes: 9, events: 4, isBlocked: true }), 3);
  assert.equal(quote.chargeForDelivered({ bytes: 9, events: 2, isBlocked: true }), 2);
});

test("images that came are charged, exactly and rounded up once, and never more of them than were asked for", () => {
  const price = { kind: "image" as const, byResolution: { "1K": (5n * NANO) / 2n } };
  const quote = quoteImage({ snapshotId: "s", price, resolution: "1K", quality: undefined, count: 4 });
  const charges = [0, 1, 2, 3, 4, 5].map((events) => quote.chargeForDelivered({ bytes: 0, events }));
  assert.deepEqual(charges, [0, 3, 5, 8, 10, 10]);
  assert.equal(quote.chargeForDelivered({ bytes: 1_000, events: 0 }), 0);
});

test("a resolution without a price is refused", () => {
  const price = { kind: "image" as const, byResolution: { "1K": 1n } };
  assert.throws(
    () => quoteImage({ snapshotId: "s", price, resolution: "8K", quality: undefined, count: 1 }),
    (error: { detail?: { code?: string } }) => error.detail?.code === "unpriced_option",
  );
});

test("speech costs its UTF-16 units, all of them as soon as anything was delivered", () => {
  const quote = quoteSpeech({
    snapshotId: "s",
    price: { kind: "speech", character: 3n * NANO },
    characters: "hi 👋".length,
  });
  assert.equal(quote.maxNanoUsd, 15);
  assert.equal(quote.flatNanoUsd, 15);
  assert.equal(quote.chargeForDelivered({ bytes: 10, events: 1 }), 15);
  assert.equal(quote.chargeForDelivered(nothingDelivered), 0);
});

test("the estimate is a token for each three bytes or for each event, and off by what docs/metering.md says", () => {
  assert.equal(deliveredTokens(nothingDelivered), 0);
  assert.equal(deliveredTokens({ bytes: 7, events: 1 }), 3);
  assert.equal(deliveredTokens({ bytes: 7, events: 5 }), 5);
  const page = readFileSync(new URL("../../../docs/metering.md", import.meta.url), "utf8");
  for (const text of ["noise", "english"] as const) {
    for (const tokens of [20, 70, 300]) {
      for (const events of [1, tokens]) {
        const row = `| ${text} | ${tokens} | ${events} | ${estimateRatios(text, tokens, events).join(" | ")} |`;
        assert.ok(page.includes(row), `The page has not ${row}`);
      }
    }
  }
});

/** The least, the median and the largest ratio of the estimate to the tokens, over 64 answers. */
function estimateRatios(text: AnswerText, tokens: number, events: number): string[] {
  const ratios = Array.from({ length: 64 }, (_, start) => {
    const bytes = Buffer.byteLength(tokensText({ text, start, choice: 0 }, 0, tokens));
    return deliveredTokens({ bytes, events }) / tokens;
  }).sort((a, b) => a - b);
  return [0, 32, 63].map((at) => ratios[at]?.toFixed(2) ?? "");
}
