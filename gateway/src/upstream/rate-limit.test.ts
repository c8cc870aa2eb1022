import assert from "node:assert/strict";
import { test } from "node:test";
import { readRateLimit } from "./rate-limit.ts";

const NOW = Date.UTC(2026, 10, 24);
const answer = (headers: Record<string, string>, status = 200) => ({
  status,
  header: (name: string) => headers[name] ?? null,
});

test("a reset is read as each provider writes it", () => {
  const resets: [text: string, ms: number | undefined][] = [
    [String(NOW + 42_000), 42_000],
    [String(NOW / 1000 + 42), 42_000],
    ["42", 42_000],
    ["1.5", 1_500],
    ["6m0s", 360_000],
    ["1h1m1.5s", 3_661_500],
    ["20ms", 20],
    ["", undefined],
    ["soon", undefined],
    ["-5", undefined],
  ];
  for (const [text, ms] of resets) {
    const rate = readRateLimit(
      answer({ "x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": text }),
      NOW,
    );
    assert.equal(rate?.resetMs, ms, text);
  }
});

test("a limit is read only with what is left and the reset", () => {
  const all = {
    "x-ratelimit-limit-requests": "20",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "9",
  };
  assert.deepEqual(readRateLimit(answer(all), NOW), { limit: 20, remaining: 0, resetMs: 9_000 });
  assert.equal(readRateLimit(answer({ ...all, "x-ratelimit-remaining-requests": "many" }), NOW), null);
  assert.equal(readRateLimit(answer({}), NOW), null);
});

test("a 429 with Retry-After has nothing left until then, for ten minutes at most", () => {
  const left = { "x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "9" };
  const after = { ...left, "retry-after": "30" };
  assert.deepEqual(readRateLimit(answer(after, 429), NOW), { limit: null, remaining: 0, resetMs: 30_000 });
  assert.deepEqual(readRateLimit(answer(after, 503), NOW), { limit: null, remaining: 7, resetMs: 9_000 });
  assert.equal(readRateLimit(answer({ "retry-after": "86400" }, 429), NOW)?.resetMs, 600_000);
  assert.equal(readRateLimit(answer({}, 429), NOW), null);
});
