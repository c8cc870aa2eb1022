import assert from "node:assert/strict";
import { test } from "node:test";
import { parseUsage, reportedCost } from "./usage.ts";

const plain = { prompt_tokens: 339, completion_tokens: 227, total_tokens: 566 };

test("a usage is read with its sub-counts", () => {
  const usage = {
    ...plain,
    prompt_tokens_details: { cached_tokens: 128, cache_creation_input_tokens: 64 },
    completion_tokens_details: { reasoning_tokens: 32 },
  };
  const read = {
    promptTokens: 339,
    completionTokens: 227,
    cacheReadTokens: 128,
    cacheWriteTokens: 64,
    reasoningTokens: 32,
  };
  assert.deepEqual(parseUsage(usage), read);
  const other = { ...usage, prompt_tokens_details: { cached_tokens: 128, cache_write_tokens: 64 } };
  assert.deepEqual(parseUsage(other), read);
  assert.deepEqual(
    parseUsage({ ...plain, prompt_tokens_details: null, completion_tokens_details: { reasoning_tokens: null } }),
    {
      ...read,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    },
  );
});

test("zero is zero, not missing", () => {
  const zero = parseUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  assert.ok(typeof zero === "object" && zero.promptTokens === 0 && zero.completionTokens === 0);
});

test("a usage that says nothing is missing", () => {
  for (const value of [undefined, null, {}, { total_tokens: 5 }, { prompt_tokens: null, completion_tokens: null }]) {
    assert.equal(parseUsage(value), "missing");
  }
});

test("only an embedding's usage has no completion tokens; a chat's is malformed without them", () => {
  const bound = { promptTokens: 10, completionTokens: 0 };
  for (const usage of [{ prompt_tokens: 8, total_tokens: 8 }, { prompt_tokens: 8 }]) {
    const read = parseUsage(usage, bound);
    assert.ok(typeof read === "object" && read.promptTokens === 8 && read.completionTokens === 0);
    assert.equal(parseUsage(usage, { promptTokens: 10, completionTokens: 5 }), "malformed");
    assert.equal(parseUsage(usage), "malformed");
  }
});

test("a usage that cannot be is malformed", () => {
  const bad: unknown[] = [
    -1,
    1.5,
    "227",
    "NaN",
    Number.POSITIVE_INFINITY,
    Number.NaN,
    2 ** 53 + 2,
    2 ** 31 + 1,
    [],
    {},
    true,
  ];
  for (const value of bad) {
    assert.equal(parseUsage({ ...plain, completion_tokens: value }), "malformed", String(value));
    assert.equal(parseUsage({ ...plain, prompt_tokens: value }), "malformed", String(value));
    assert.equal(parseUsage({ ...plain, prompt_tokens_details: { cached_tokens: value } }), "malformed", String(value));
  }
  for (const usage of ["5", 5, [], true]) assert.equal(parseUsage(usage), "malformed");
  assert.equal(parseUsage({ ...plain, prompt_tokens_details: 5 }), "malformed");
  assert.equal(parseUsage({ prompt_tokens: 5 }), "malformed");
});

test("sub-counts above their parents are malformed", () => {
  assert.equal(parseUsage({ ...plain, prompt_tokens_details: { cached_tokens: 340 } }), "malformed");
  const both = { cached_tokens: 200, cache_write_tokens: 140 };
  assert.equal(parseUsage({ ...plain, prompt_tokens_details: both }), "malformed");
  assert.equal(parseUsage({ ...plain, completion_tokens_details: { reasoning_tokens: 228 } }), "malformed");
});

test("a count a little above the bound is believed, one far above it is absurd", () => {
  const bound = { promptTokens: 100, completionTokens: 200 };
  assert.equal(typeof parseUsage(plain, bound), "object");
  assert.equal(typeof parseUsage({ ...plain, prompt_tokens: 1_001_600 }, bound), "object");
  assert.equal(parseUsage({ ...plain, prompt_tokens: 1_001_601 }, bound), "malformed");
  assert.equal(parseUsage({ ...plain, completion_tokens: 1_003_201 }, bound), "malformed");
});

test("the provider's cost is read in each of its shapes, and one that cannot be is none", () => {
  const read: [Record<string, unknown>, number | undefined][] = [
    [{ usage: { cost: 0.0000012345 } }, 1_235],
    [{ usage: { cost: 0 } }, 0],
    [{ cost: 0.5 }, 500_000_000],
    [{ cost: { usd: 0, diem: 0.00136 } }, 1_360_000],
    [{ cost: { usd: 0.25, diem: 1 } }, 1_250_000_000],
    [{ cost: { usd: 0.25 } }, 250_000_000],
    [{ usage: { cost: 0.1 }, cost: { usd: 9 } }, 100_000_000],
    [{ cost: { usd: -1, diem: "x" } }, undefined],
    ...["0.5", -1, Number.NaN, 1e300, null, [1], true].map((cost): [Record<string, unknown>, undefined] => [
      { usage: { cost } },
      undefined,
    ]),
    [{}, undefined],
  ];
  for (const [answer, costNanoUsd] of read) {
    assert.equal(reportedCost(answer).costNanoUsd, costNanoUsd, JSON.stringify(answer));
  }
});
