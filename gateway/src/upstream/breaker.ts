import { fail } from "@inference/protocol/errors";
import type { OperatorConfig } from "../config.ts";

/**
 * Keeps requests from a provider that fails for their model: they would wait, and hold money, for nothing. It opens
 * after so many failures in a row, lets one request through when a while has passed, and closes with its success. Each
 * model has its own, so that nobody's trouble with one of them is everybody's.
 */
export type Breaker = {
  /** Throws 503 `upstream_unavailable` while open. Who is let through tells how it went, by one of the two below. */
  admit(model: string, atMs: number): void;
  succeeded(model: string): void;
  failed(model: string, atMs: number): void;
  /** The models that are cut off. */
  cutOff(atMs: number): number;
};

/** A model whose last requests failed; the others have no entry. */
type Trouble = { failures: number; openUntil: number };

/** @param limit Null: it never opens. */
export function makeBreaker(limit: OperatorConfig["breaker"]): Breaker {
  const { failures: mostFailures, openMs } = limit ?? { failures: Number.POSITIVE_INFINITY, openMs: 0 };
  const troubles = new Map<string, Trouble>();
  return {
    admit(model, atMs) {
      const trouble = troubles.get(model);
      if (trouble === undefined || trouble.failures < mostFailures) return;
      const leftMs = trouble.openUntil - atMs;
      if (leftMs > 0) unavailable(model, Math.ceil(leftMs / 1000));
      // This one tries it; the others wait for what becomes of it, or for as long again.
      trouble.openUntil = atMs + openMs;
    },
    succeeded: (model) => void troubles.delete(model),
    failed(model, atMs) {
      const trouble = troubles.get(model) ?? { failures: 0, openUntil: 0 };
      trouble.failures += 1;
      if (trouble.failures >= mostFailures) trouble.openUntil = atMs + openMs;
      troubles.set(model, trouble);
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
