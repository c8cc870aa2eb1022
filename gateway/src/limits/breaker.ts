import { fail } from "@inference/protocol/errors";
import type { OperatorConfig } from "../config.ts";
import { type BoundedMap, makeBoundedMap } from "./bounded-map.ts";

/**
 * Keeps requests from a provider that fails for their model: they would wait, and hold money, for nothing. It opens
 * after so many failures in a row, lets one request through when a while has passed, and closes with its success. Each
 * model has its own, so that nobody's trouble with one of them is everybody's.
 *
 * Nor is one account's: what its own requests may have brought about counts once, and those whose requests failed let
 * the others try first.
 */
export type Breaker = {
  /** Throws 503 `upstream_unavailable` while open: for who may yet be refused by others, and would try nothing. */
  check(model: string, account: string, atMs: number): void;
  /** The same, and lets one try it. Who is let through tells how it went, by one of the three below. */
  admit(model: string, account: string, atMs: number): void;
  succeeded(model: string): void;
  /** @param account Whose request failed; null if no request of anybody's has a part in it. */
  failed(model: string, account: string | null, atMs: number): void;
  /**
   * It was broken off here, and nothing is known: if this one was the try, the next one may.
   *
   * @param admittedAtMs When it was let through.
   */
  gaveUp(model: string, admittedAtMs: number): void;
  /** The models that are cut off. */
  cutOff(atMs: number): number;
};

/** A model whose last requests failed; the others have no entry. */
type Trouble = {
  /** Those that count: it is open from the last of them on. */
  failures: number;
  /** Of those that failed last, as many as it takes to open. */
  accounts: BoundedMap<string, true>;
  /** Nobody tries before; an account of these, as long again after. */
  openUntil: number;
  /** When the last one was let through to try; null before the first. */
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
      // This one tries it; the others wait for what becomes of it, or for as long again.
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
      // Once it is open, whoever tries it has set the time of the next try.
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
  return { failures: 0, accounts: makeBoundedMap(mostFailures), openUntil: 0, triedAt: null };
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
  return fail("upstream_unavailable", message, { retryAfterS });
}
