import { DAY_MS, dollarWindows } from "@inference/protocol/window";
import fc from "fast-check";

/** The possible events of a world, as data: how often each occurs, and with which numbers. */
export const starts = [
  "2028-02-28T23:50:00.000Z",
  "2028-02-29T23:59:59.999Z",
  "2027-02-28T23:58:00.000Z",
  "2026-12-31T23:59:30.000Z",
  "2026-06-15T12:00:00.000Z",
].map((text) => Date.parse(text));

const amount = fc.constantFrom(0, 1, 10, 50, 99, 100, 150, 199, 200, 201, 333);
const index = fc.nat({ max: 997 });
const skew = fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.constantFrom(-60_001, -60_000, 60_000, 60_001));
const payerKind = fc.oneof({ weight: 5, arbitrary: fc.constant("key" as const) }, fc.constant("session" as const));
const charge = fc.constantFrom("zero", "one", "half", "all", "over");
/** Few names and bodies, so that requests meet under them. */
const claim = fc.option(fc.record({ name: fc.nat({ max: 3 }), body: fc.nat({ max: 7 }) }), { freq: 2 });
/** Most name the last offer of an agent. */
const offers = fc.array(fc.record({ who: fc.nat({ max: 1 }), isStale: fc.nat({ max: 9 }) }), { maxLength: 3 });
/** Besides the first limit in dollars. */
const keyTerms = fc.record({
  other: fc.option(fc.record({ window: fc.constantFrom(...dollarWindows), amount }), { freq: 3 }),
  requests: fc.option(fc.nat({ max: 4 }), { freq: 3 }),
  tokens: fc.option(fc.constantFrom(0, 50, 100, 150), { freq: 3 }),
  models: fc.option(fc.subarray(["a", "a*", "ab", "ab*", "b*"], { minLength: 1 }), { freq: 8 }),
  isPrivate: fc.nat({ max: 9 }).map((n) => n === 0),
});
const model = fc.record({
  id: fc.constantFrom("a", "ab", "abc", "b"),
  isPrivate: fc.nat({ max: 3 }).map((n) => n > 0),
});
const tokens = fc.constantFrom(0, 1, 40, 50, 100, 120);
const tick = fc.constantFrom(
  "1",
  "500",
  "5000",
  "61000",
  "900001",
  "3600000",
  "86400000",
  "176400000",
  "864000000",
  "-1000",
  "midnight",
  "before midnight",
  "month",
);

const operation = fc.oneof(
  { withCrossShrink: true },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("nothing" as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("rush" as const), amount }) },
  {
    weight: 22,
    arbitrary: fc.record({
      op: fc.constant("request" as const),
      kind: payerKind,
      who: index,
      key: index,
      amount,
      skew,
      steps: fc.nat({ max: 8 }),
      inPieces: fc.boolean(),
      claim,
      offers,
      tokens,
      model,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant("burst" as const), who: index, key: index, amount: fc.constantFrom(0, 1) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("spree" as const),
      who: index,
      key: index,
      amount: fc.constantFrom(1, 2, 5, 10),
      count: fc.integer({ min: 2, max: 8 }),
      open: fc.nat({ max: 3 }),
    }),
  },
  { weight: 10, arbitrary: fc.record({ op: fc.constant("step" as const), which: index }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("fail" as const), which: index, arrives: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("late" as const), which: index }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("crash" as const) }) },
  {
    weight: 14,
    arbitrary: fc.record({ op: fc.constant("settle" as const), which: index, charge, tokens: fc.option(tokens) }),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom("release" as const, "orphan" as const), which: index }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("checkpoint" as const), which: index, amount }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("offer" as const),
      who: index,
      share: fc.constantFrom(0, 1, 2_500, 5_000, 9_999, 10_000),
      day: fc.constantFrom("every", "every", "today", "today", "yesterday", "tomorrow"),
      nonce: fc.constantFrom(-1, 0, 1, 1, 1, 5, 1_048_576, 1_048_577),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("endOffer" as const), who: index }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("reassign" as const), which: index }) },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant("lower" as const), who: index, limit: fc.option(fc.nat({ max: 2 })) }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("hear" as const), who: index }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("copy" as const), who: index }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("putBack" as const), who: index, which: index }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("emptyCeiling" as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("setCarry" as const), amount }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("giveUp" as const), who: index }) },
  {
    weight: 14,
    arbitrary: fc.record({ op: fc.constant("deliver" as const), which: index, acknowledge: fc.boolean() }),
  },
  { weight: 8, arbitrary: fc.record({ op: fc.constant("repeat" as const), which: index }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("conflict" as const), which: index, amount }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constant("activate" as const), who: index, amount }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("createKey" as const),
      who: index,
      nonce: index,
      window: fc.constantFrom(...dollarWindows),
      limit: fc.option(amount, { freq: 2 }),
      expiresIn: fc.option(fc.constantFrom(1, 30_000, DAY_MS), { freq: 2 }),
      terms: keyTerms,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("updateKey" as const),
      key: index,
      limit: fc.option(amount),
      disabled: fc.option(fc.boolean()),
      terms: keyTerms,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("rollKey" as const), key: index, nonce: index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("setKeyTerms" as const),
      key: index,
      nonce: index,
      window: fc.constantFrom(...dollarWindows),
      limit: fc.option(amount, { freq: 2 }),
      expiresIn: fc.option(fc.constantFrom(1, 30_000, DAY_MS), { freq: 2 }),
      terms: keyTerms,
      stays: fc.subarray(["limits", "requests", "tokens", "models", "isPrivate"]),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("revokeKey" as const), key: index }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("setCeiling" as const),
      amount: fc.constantFrom(0, 4, 300, 500, 999, 1_000, 2_000, 8_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("setCapacity" as const),
      who: index,
      amount,
      daysAgo: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("revokeSession" as const), who: index }) },
  { weight: 12, arbitrary: fc.record({ op: fc.constant("tick" as const), by: tick }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("forget" as const),
      table: fc.constantFrom(...(["receipt", "receipt", "key", "key", "session"] as const)),
    }),
  },
);
export type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never;
export type OfferTerms = { who: number; isStale: number };
export type KeyTermsDrawn = typeof keyTerms extends fc.Arbitrary<infer T> ? T : never;
export type ClaimTerms = { name: number; body: number };
export type Run = { start: number; scale: number; ceiling: number; operations: Operation[] };

export const runs = (length: number): fc.Arbitrary<Run> =>
  fc.record({
    start: fc.constantFrom(...starts),
    scale: fc.constantFrom(1, 1_000_003, 1_000_000_000_000),
    ceiling: fc.constantFrom(1_000, 8_000),
    operations: fc.array(operation, { minLength: length, maxLength: length }),
  });
