import { fail } from "@inference/protocol/errors";
import { limits, type OperatorConfig } from "../config.ts";
import type { Clock } from "../environment.ts";
import { BoundedMap } from "./bounded-map.ts";

/**
 * Keeps the failed requests of each key at the provider below the number at which the provider blocks the key. All
 * accounts share one key, and a failed request costs its sender nothing. A failure counts for `windowMs`.
 *
 * - The failures of one account and its requests without an answer are together at most two thirds of the budget. So
 *   the answered requests of one account never use up the budget, whatever the provider counts as a failure.
 * - An account with five failures that its own requests caused waits until fewer count.
 * - Accounts with such failures share the budget: their failures and their requests without an answer are together at
 *   most the budget. Accounts without such failures are not limited by those of others.
 */
export type FailureBudget = {
  /**
   * Whether a request may be sent now. If not, another one has to be answered first. Throws 429 `rate_limited` if the
   * account has to wait until fewer failures count, and 503 `upstream_unavailable` while the provider blocks the key.
   */
  admits(sender: Sender): boolean;
  /** A request is about to be sent. One call of `answered` follows. */
  sent(sender: Sender): void;
  /** @param failure Null: the answer is no failure, or there is none. */
  answered(sender: Sender, failure: Failure | null): void;
  /** The provider blocks the key for this time. */
  blocked(key: string, ms: number): void;
  /** The failures of a key that count and that requests caused, and whether the provider blocks the key. */
  standing(key: string): { failures: number; isBlocked: boolean };
};

/** The account or identity that sends a request, and the key at the provider that the request is sent with. */
export type Sender = { account: string; key: string };

/** The cause of a failure: the content of the request, or the provider. */
export type Failure = "request" | "provider";

/** Times of failures, oldest first. `caused` are those that the account's requests caused. */
type AccountState = { unanswered: number; all: number[]; caused: number[] };

type KeyState = {
  /** The accounts with failures that count, or with requests without an answer. */
  accounts: Map<string, AccountState>;
  /** Oldest first. */
  failures: { at: number; account: string; failure: Failure }[];
  caused: number[];
  blockedUntil: number;
};

/** Only identities with keys of their own make more than one key. */
const MAX_KEYS = 10_000;

/** @param budget Null: no limit, except while the provider blocks a key. */
export function makeFailureBudget(budget: OperatorConfig["failures"], clock: Clock): FailureBudget {
  const { most, windowMs } = budget ?? { most: Number.POSITIVE_INFINITY, windowMs: 0 };
  const mostEach = Math.ceil((most * 2) / 3);
  const mostCausedEach = Math.min(limits.causedFailures, mostEach);
  const keys = new BoundedMap<string, KeyState>(MAX_KEYS);
  let readAt = clock.now();
  let time = 0;

  /** Advances with the clock. A clock that goes back changes nothing. */
  function now(): number {
    const at = clock.now();
    time += Math.max(0, at - readAt);
    readAt = at;
    return time;
  }

  /** The state of a key without the failures that count no more. */
  function stateOf(key: string): KeyState {
    const state = keys.get(key) ?? { accounts: new Map(), failures: [], caused: [], blockedUntil: 0 };
    // A key in use is not evicted.
    keys.set(key, state);
    const since = now() - windowMs;
    while (state.failures[0] !== undefined && state.failures[0].at <= since) forgetOldest(state);
    return state;
  }

  /** When fewer than `limit` of these failures count. */
  const fewerThan = (limit: number, times: readonly number[]): number =>
    (times[times.length - limit] ?? Number.NEGATIVE_INFINITY) + windowMs;

  /** Throws if only time helps. */
  function requireTime(state: KeyState, { all, caused }: AccountState): void {
    if (state.blockedUntil > time) blockedFor(state.blockedUntil - time);
    const own = Math.max(fewerThan(mostCausedEach, caused), fewerThan(mostEach, all));
    if (own > time) tooManyFailed(all.length, windowMs, own - time, caused.length >= mostCausedEach);
    const shared = caused.length === 0 ? Number.NEGATIVE_INFINITY : fewerThan(most, state.caused);
    if (shared > time) budgetSpent(state.caused.length, windowMs, shared - time);
  }

  return {
    admits({ account, key }) {
      const state = stateOf(key);
      const own = state.accounts.get(account) ?? newAccount();
      requireTime(state, own);
      if (own.all.length + own.unanswered >= mostEach) return false;
      return own.caused.length === 0 || exposureOf(state) < most;
    },
    sent({ account, key }) {
      const { accounts } = stateOf(key);
      const own = accounts.get(account) ?? newAccount();
      own.unanswered += 1;
      accounts.set(account, own);
    },
    answered({ account, key }, failure) {
      const state = stateOf(key);
      const own = state.accounts.get(account);
      if (own === undefined) return;
      // The state of a key that was evicted begins anew.
      own.unanswered = Math.max(0, own.unanswered - 1);
      if (failure !== null) {
        state.failures.push({ at: time, account, failure });
        own.all.push(time);
      }
      if (failure === "request") {
        state.caused.push(time);
        own.caused.push(time);
      }
      forgetIdle(state, account, own);
    },
    blocked(key, ms) {
      const state = stateOf(key);
      state.blockedUntil = Math.max(state.blockedUntil, time + ms);
    },
    standing(key) {
      const { caused, blockedUntil } = stateOf(key);
      return { failures: caused.length, isBlocked: blockedUntil > time };
    },
  };
}

/** The failures that requests caused, and the requests without an answer of the accounts that caused them. */
function exposureOf({ accounts, caused }: KeyState): number {
  let sum = caused.length;
  for (const own of accounts.values()) if (own.caused.length > 0) sum += own.unanswered;
  return sum;
}

function forgetOldest(state: KeyState): void {
  const oldest = state.failures.shift();
  if (oldest === undefined) return;
  const { account, failure } = oldest;
  const own = state.accounts.get(account);
  if (failure === "request") state.caused.shift();
  if (own === undefined) return;
  own.all.shift();
  if (failure === "request") own.caused.shift();
  forgetIdle(state, account, own);
}

function forgetIdle({ accounts }: KeyState, account: string, { unanswered, all }: AccountState): void {
  if (unanswered === 0 && all.length === 0) accounts.delete(account);
}

function newAccount(): AccountState {
  return { unanswered: 0, all: [], caused: [] };
}

function tooManyFailed(failures: number, windowMs: number, leftMs: number, isCaused: boolean): never {
  const retryAfterS = Math.ceil(leftMs / 1000);
  const message =
    `${failures} requests of this account failed at the provider within ${windowMs / 1000} s. Nothing was charged. ` +
    `${isCaused ? "Correct the requests, then retry" : "Retry"} in ${retryAfterS} s.`;
  return fail("rate_limited", message, { retryAfterS, metadata: { failed_requests: failures } });
}

function budgetSpent(failures: number, windowMs: number, leftMs: number): never {
  const retryAfterS = Math.ceil(leftMs / 1000);
  const message =
    `${failures} requests failed at the provider within ${windowMs / 1000} s, some of this account. The provider ` +
    `limits failed requests. Nothing was charged. Retry in ${retryAfterS} s.`;
  return fail("rate_limited", message, { retryAfterS, metadata: { failed_requests: failures } });
}

function blockedFor(leftMs: number): never {
  const retryAfterS = Math.ceil(leftMs / 1000);
  const message = `The provider accepts no requests for another ${retryAfterS} s. Nothing was charged.`;
  return fail("upstream_unavailable", message, { retryAfterS });
}
