import { fail } from "@inference/protocol/errors";
import type { OperatorConfig } from "../config.ts";

/**
 * Keeps requests from a provider that fails for their model: they would wait, and hold money, for nothing. It opens
 * after so many failures in a row, lets one request through when a while has passed, and closes with its success. Each
 * model has its own, so that nobody's trouble with one of them is everybody's.
 */
export type Breaker = {
  /** Throws 503 `upstream_unavailable` while open: for who may yet be refused by others, and would try nothing. */
  check(model: string, atMs: number): void;
  /** The same, and lets one try it. Who is let through tells how it went, by one of the three below. */
  admit(model: string, atMs: number): void;
  succeeded(model: string): void;
  failed(model: string, atMs: number): void;
  /** It was broken off here, and nothing is known: the next one may try. */
  gaveUp(model: string): void;
  /** The models that are cut off. */
  cutOff(atMs: number): number;
};

/** A model whose last requests failed; the others have no entry. */
type Trouble = { failures: number; openUntil: number };

/** @param limit Null: it never opens. */
export function makeBreaker(limit: OperatorConfig["breaker"]): Breaker {
  const { failures: mostFailures, openMs } = limit ?? { failures: Number.POSITIVE_INFINITY, openMs: 0 };
  const troubles = new Map<string, Trouble>();
  const tripped = (model: string): Trouble | undefined => {
    const trouble = troubles.get(model);
    return trouble !== undefined && trouble.failures >= mostFailures ? trouble : undefined;
  };

  function check(model: string, atMs: number): void {
    const leftMs = (tripped(model)?.openUntil ?? 0) - atMs;
    if (leftMs > 0) unavailable(model, Math.ceil(leftMs / 1000));
  }

  return {
    check,
    admit(model, atMs) {
      check(model, atMs);
      const trouble = tripped(model);
      // This one tries it; the others wait for what becomes of it, or for as long again.
      if (trouble !== undefined) trouble.openUntil = atMs + openMs;
    },
    succeeded: (model) => void troubles.delete(model),
    failed(model, atMs) {
      const trouble = troubles.get(model) ?? { failures: 0, openUntil: 0 };
      trouble.failures += 1;
      if (trouble.failures >= mostFailures) trouble.openUntil = atMs + openMs;
      troubles.set(model, trouble);
    },
    gaveUp(model) {
      const trouble = tripped(model);
      if (trouble !== undefined) trouble.openUntil = 0;
    },
    cutOff(atMs) {
      const all = [...troubles.values()];
      return all.filter(({ failures, openUntil }) => failures >= mostFailures && openUntil > atMs).length;
    },
  };
}

function unavailable(model: string, retryAfterS: number): never {
  const message = `The provider fails for \`${model}\` at the moment: try again in ${retryAfterS} s. Nothing was charged.`;
  return fail("upstream_unavailable", message, { retryAfterS });
}
