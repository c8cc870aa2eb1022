import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { type Failure, makeFailureBudget, type Sender } from "./failure-budget.ts";

/** The rule of the provider: more than 20 failures within 30 s block the key. */
const PROVIDER_MOST = 20;
const WINDOW_MS = 30_000;
const budget = { most: 18, windowMs: WINDOW_MS };
const MOST_EACH = 12;
const MOST_CAUSED_EACH = 5;

type Wish = { account: number; atMs: number; latencyMs: number; failure: Failure | null };
type Sent = Wish & { answeredAt: number };
type Outcome = { sent: Sent[]; waited: Wish[]; refused: Wish[] };

const senderOf = (account: number): Sender => ({ account: `account ${account}`, key: "the key" });

/**
 * Runs requests against a budget. A request that has to wait is not tried again.
 *
 * @param onSent Called after each request, with the earlier requests.
 */
function run(wishes: readonly Wish[], onDecided: (wish: Wish, sent: readonly Sent[], was: string) => void): Outcome {
  const clock = { time: 0, now: () => clock.time };
  const failures = makeFailureBudget(budget, clock);
  const outcome: Outcome = { sent: [], waited: [], refused: [] };
  let unanswered: Sent[] = [];
  function answerUntil(time: number): void {
    const due = unanswered.filter(({ answeredAt }) => answeredAt <= time).sort((a, b) => a.answeredAt - b.answeredAt);
    unanswered = unanswered.filter(({ answeredAt }) => answeredAt > time);
    for (const { account, answeredAt, failure } of due) {
      clock.time = answeredAt;
      failures.answered(senderOf(account), failure);
    }
    clock.time = time;
  }
  for (const wish of [...wishes].sort((a, b) => a.atMs - b.atMs)) {
    answerUntil(wish.atMs);
    const was = ask(wish);
    onDecided(wish, outcome.sent, was);
    outcome[was].push({ ...wish, answeredAt: wish.atMs + wish.latencyMs });
  }
  function ask(wish: Wish): keyof Outcome {
    const sender = senderOf(wish.account);
    try {
      if (!failures.admits(sender)) return "waited";
    } catch (error) {
      assert.ok(error instanceof GatewayError && error.detail.code === "rate_limited");
      assert.ok((error.detail.retryAfterS ?? 0) > 0 && (error.detail.retryAfterS ?? 0) <= WINDOW_MS / 1000);
      return "refused";
    }
    failures.sent(sender);
    unanswered.push({ ...wish, answeredAt: wish.atMs + wish.latencyMs });
    return "sent";
  }
  return outcome;
}

/** The most failures that any window has, by when the provider answered. */
function mostInWindow(sent: readonly Sent[]): number {
  const times = sent.filter(({ failure }) => failure !== null).map(({ answeredAt }) => answeredAt);
  return Math.max(0, ...times.map((end) => times.filter((at) => at > end - WINDOW_MS && at <= end).length));
}

const anyWish = (account: fc.Arbitrary<number>, failure: fc.Arbitrary<Failure | null>): fc.Arbitrary<Wish> =>
  fc.record({
    account,
    atMs: fc.integer({ min: 0, max: 90_000 }),
    // A refusal at once, or after a long time.
    latencyMs: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 40_000 })),
    failure,
  });
const anyFailure = fc.constantFrom<Failure>("request", "provider");
const many = { minLength: 50, maxLength: 400 };

test("one account never causes a block, and takes nothing from accounts whose requests succeed", () => {
  const attacks = fc.array(anyWish(fc.constant(0), anyFailure), many);
  const others = fc.array(anyWish(fc.integer({ min: 1, max: 20 }), fc.constant(null)), many);
  fc.assert(
    fc.property(attacks, others, (attack, honest) => {
      const { sent, refused } = run([...attack, ...honest], (wish, before, was) => {
        if (wish.account === 0 || was === "sent") return;
        const own = before.filter(({ account, answeredAt }) => account === wish.account && answeredAt > wish.atMs);
        assert.ok(own.length >= MOST_EACH, "it waits for its own requests only");
      });
      assert.ok(mostInWindow(sent) <= MOST_EACH && MOST_EACH <= PROVIDER_MOST);
      assert.ok(refused.every(({ account }) => account === 0));
    }),
    { numRuns: runs(100) },
  );
});

test("no account has more failures in a window than its part, and accounts that caused some share the budget", () => {
  const wishes = fc.array(anyWish(fc.integer({ min: 0, max: 8 }), fc.option(anyFailure)), many);
  fc.assert(
    fc.property(wishes, (all) => {
      const isCaused = ({ failure, answeredAt }: Sent, at: number): boolean =>
        failure === "request" && answeredAt <= at && answeredAt > at - WINDOW_MS;
      const { sent } = run(all, ({ account, atMs }, before, was) => {
        const caused = before.filter((other) => isCaused(other, atMs));
        const own = caused.filter((other) => other.account === account);
        if (own.length >= MOST_CAUSED_EACH) assert.equal(was, "refused");
        if (own.length === 0 || was !== "sent") return;
        const failing = new Set(caused.map((other) => other.account));
        const open = before.filter((other) => other.answeredAt > atMs && failing.has(other.account));
        assert.ok(caused.length + open.length < budget.most, "with this request at most the budget");
      });
      for (let account = 0; account <= 8; account++) {
        assert.ok(mostInWindow(sent.filter((one) => one.account === account)) <= MOST_EACH);
      }
    }),
    { numRuns: runs(100) },
  );
});
