import { fail } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { type GatewayConfig, limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import type { Provider } from "../upstream/provider.ts";
import { parseCatalogue } from "./catalogue.ts";

/**
 * The prices in force: a snapshot, read again every five minutes and refused past fifteen. Each new one is written
 * down, so that a hold of an earlier process can be settled at the prices it was made at.
 */
export type PriceList = {
  /** Throws `upstream_unavailable` if there are no prices, or only old ones. */
  current(): PriceSnapshot;
  /** The snapshot of this id, of now or of before; undefined if it was never written down. */
  byId(id: string): Promise<PriceSnapshot | undefined>;
  /**
   * Reads the catalogue again, or joins the reading that is under way, so that none overwrites a later one. Throws if
   * that fails; what was read before stays.
   */
  refresh(): Promise<PriceSnapshot>;
  /** The provider says that a listed model is gone: refreshes, unless that was tried a moment ago. Never throws. */
  modelGone(): Promise<void>;
};

const READ_MS = 20_000;
const KEEP_MS = 7 * 24 * 3_600_000;

export function makePriceList(config: GatewayConfig, environment: Environment, provider: Provider): PriceList {
  const { clock, keyValue, log, timers } = environment;
  const { catalogueShape, pricesFile, aliases } = config.upstream;
  let latest: PriceSnapshot | undefined;
  let underWay: Promise<PriceSnapshot> | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** An earlier one: many holds of one process are settled at the same. */
  let earlier: PriceSnapshot | undefined;

  function parse(text: string, atMs: number): PriceSnapshot {
    const shape = pricesFile === null ? catalogueShape : "prices-file";
    const { snapshot, leftOut } = parseCatalogue(text, shape, atMs, aliases);
    if (atMs > 0 && snapshot.id !== latest?.id) {
      log("info", "prices", { snapshot: snapshot.id, models: snapshot.models.size, leftOut: leftOut.length });
    }
    return snapshot;
  }

  async function readAgain(): Promise<PriceSnapshot> {
    const atMs = clock.now();
    triedAtMs = atMs;
    const text = await read();
    const snapshot = parse(text, atMs);
    if (snapshot.id !== latest?.id) await keyValue.put(`prices:${snapshot.id}`, text, { expiresAt: atMs + KEEP_MS });
    latest = snapshot;
    return snapshot;
  }

  function refresh(): Promise<PriceSnapshot> {
    underWay ??= readAgain().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function read(): Promise<string> {
    if (pricesFile !== null) return pricesFile;
    const abort = new AbortController();
    const timer = timers.after(READ_MS, () => abort.abort());
    try {
      const text = await provider.read("/models?type=all", abort.signal);
      if (text === null) throw new UpstreamFailure("sent", "the provider has no catalogue");
      return text;
    } finally {
      timer.cancel();
    }
  }

  return {
    current() {
      if (latest === undefined || clock.now() - latest.atMs > limits.catalogueMaxAgeMs) {
        return fail("upstream_unavailable", "The provider's prices are not known at the moment.", { retryAfterS: 5 });
      }
      return latest;
    },
    async byId(id) {
      if (latest?.id === id) return latest;
      if (earlier?.id === id) return earlier;
      const text = await keyValue.get(`prices:${id}`);
      if (text === null) return undefined;
      earlier = parse(text, 0);
      return earlier;
    },
    refresh,
    async modelGone() {
      if (Math.abs(clock.now() - triedAtMs) < limits.goneModelRefreshMs) return;
      await refresh().catch((error: unknown) => log("warn", "prices_failed", { error: String(error) }));
    },
  };
}
