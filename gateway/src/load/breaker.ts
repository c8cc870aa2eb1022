import type { OperatorConfig } from "../config.ts";
import { BoundedMap } from "./bounded-map.ts";
import { ModelUnavailable } from "./model-unavailable.ts";

/**
 * A circuit breaker for each model: while the provider fails for a model, its requests are refused instead of waiting
 * and holding money. It opens after a number of consecutive failures, lets one request through after a time, and closes
 * when that request succeeds.
 *
 * The failures of one account count once, because its own requests may have caused them. After the time, accounts whose
 * requests did not fail try first.
 */
export type Breaker = {
  /** Throws `ModelUnavailable`, 503 `upstream_unavailable`, while open. For a request that another check may still refuse. */
  check(model: string, account: string, atMs: number): void;
  /** The same, and lets one request try. The caller reports its result with one of the three methods below. */
  admit(model: string, account: string, atMs: number): void;
  succeeded(model: string): void;
  /** @param account The account whose request failed; null if the failure does not depend on a request. */
  failed(model: string, account: string | null, atMs: number): void;
  /**
   * The request ended without a result. If it was the one that tries, the next one may try.
   *
   * @param admittedAtMs When it was admitted.
   */
  gaveUp(model: string, admittedAtMs: number): void;
  /** The number of models whose circuit is open. */
  cutOff(atMs: number): number;
};

/** The failures of a model whose last requests failed. */
type Trouble = {
  /** Failures that count. The circuit is open once it is the limit. */
  failures: number;
  /** The accounts of the last failures, at most the limit. */
  accounts: BoundedMap<string, true>;
  /** No request before this time, and none of `accounts` for another `openMs` after it. */
  openUntil: number;
  /** When a request was last let through to try; null before the first. */
  triedAt: number | null;
};

/** @param limit Null: it never opens. */
export function makeBreaker(limit: OperatorConfig["breaker"]): Breaker {
  if (limit === null) return neverOpen;
  const { failures: mostFailures, openMs } = limit;
  const troubles = new Map<string, Trouble>();
  const tripped = (model: string): Trouble | undefined => {
    const trouble = troubles.get(model);
    return trouble !== undefined && trouble.failures === mostFailures ? trouble : undefined;
  };

  function check(model: string, account: string, atMs: number): void {
    const trouble = tripped(model);
    if (trouble === undefined) return;
    const leftMs = trouble.openUntil + (trouble.accounts.has(account) ? openMs : 0) - atMs;
    if (leftMs > 0) unavailable(model, Math.ceil(leftMs / 1000));
  }

  return {
    check,
    admit(model, account, atMs) {
      check(model, account, atMs);
      const trouble = tripped(model);
      // This request tries. The others wait for its result, or for another `openMs`.
      if (trouble === undefined) return;
      trouble.openUntil = atMs + openMs;
      trouble.triedAt = atMs;
    },
    succeeded: (model) => void troubles.delete(model),
    failed(model, account, atMs) {
      const trouble = troubles.get(model) ?? newTrouble(mostFailures);
      troubles.set(model, trouble);
      const { accounts } = trouble;
      if (account !== null) {
        if (accounts.has(account)) return;
        accounts.set(account, true);
      }
      // The circuit is open: the request that tries has set the time of the next try.
      if (trouble.failures === mostFailures) return;
      trouble.failures += 1;
      if (trouble.failures === mostFailures) trouble.openUntil = atMs + openMs;
    },
    gaveUp(model, admittedAtMs) {
      const trouble = tripped(model);
      if (trouble?.triedAt === admittedAtMs) trouble.openUntil = 0;
    },
    cutOff(atMs) {
      const all = [...troubles.values()];
      return all.filter(({ failures, openUntil }) => failures === mostFailures && openUntil > atMs).length;
    },
  };
}

function newTrouble(mostFailures: number): Trouble {
  return { failures: 0, accounts: new BoundedMap(mostFailures), openUntil: 0, triedAt: null };
}

const neverOpen: Breaker = {
  check: () => undefined,
  admit: () => undefined,
  succeeded: () => undefined,
  failed: () => undefined,
  gaveUp: () => undefined,
  cutOff: () => 0,
};

function unavailable(model: string, retryAfterS: number): never {
  const message = `The provider is failing for \`${model}\`. Nothing was charged. Retry in ${retryAfterS} s.`;
  throw new ModelUnavailable("circuit open", { code: "upstream_unavailable", message, retryAfterS });
}
