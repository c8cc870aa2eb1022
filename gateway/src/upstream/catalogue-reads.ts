import { GatewayError } from "@inference/protocol/errors";
import { within } from "@inference/protocol/timers";
import { limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { makeSingleFlight } from "../load/single-flight.ts";
import type { Provider } from "./provider.ts";

/**
 * The provider's free lists beside its catalogue. Each is read once for all requests and kept as long as the prices,
 * so that clients cannot cause more reads. A list that could not be read is tried again after ten seconds.
 */
export type CatalogueReads = {
  /**
   * @param path One of the few paths that the gateway reads: each is kept.
   * @returns The answer, parsed; null if the provider has no such list.
   * @throws GatewayError `upstream_unavailable` if it cannot be read, and the last one is too old.
   */
  read(path: string): Promise<unknown>;
};

const READ_MS = 5_000;

export function makeCatalogueReads(
  { clock, timers, log, background }: Environment,
  provider: Pick<Provider, "read">,
): CatalogueReads {
  const kept = new Map<string, { answer: unknown; atMs: number; triedAtMs: number }>();
  /** When a read last failed, of paths without an answer. */
  const failedAtMs = new Map<string, number>();
  const once = makeSingleFlight<unknown>({ background });

  async function readAgain(path: string): Promise<unknown> {
    const atMs = clock.now();
    try {
      const text = await within(timers, READ_MS, (signal) => provider.read(path, signal));
      const answer: unknown = text === null ? null : JSON.parse(text);
      kept.set(path, { answer, atMs, triedAtMs: atMs });
      failedAtMs.delete(path);
      return answer;
    } catch (error) {
      if (!(error instanceof UpstreamFailure || error instanceof SyntaxError)) throw error;
      log("warn", "catalogue_read_failed", { path, error: String(error) });
      const last = kept.get(path);
      if (last !== undefined && atMs - last.atMs <= limits.catalogueMaxAgeMs) {
        last.triedAtMs = atMs;
        return last.answer;
      }
      failedAtMs.set(path, atMs);
      throw notTold();
    }
  }

  return {
    async read(path) {
      const known = kept.get(path);
      const nowMs = clock.now();
      if (known !== undefined && Math.abs(nowMs - known.triedAtMs) < limits.catalogueRefreshMs) return known.answer;
      if (Math.abs(nowMs - (failedAtMs.get(path) ?? 0)) < limits.goneModelRefreshMs) throw notTold();
      return once(path, () => readAgain(path));
    },
  };
}

function notTold(): GatewayError {
  const message = "The provider did not answer. Retry in a few seconds.";
  return new GatewayError({ code: "upstream_unavailable", message, retryAfterS: 5 });
}
