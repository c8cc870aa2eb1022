import { fail } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { type GatewayConfig, limits } from "../config.ts";
import type { Environment } from "../environment.ts";
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
  /** Reads the catalogue again. Throws if that fails; what was read before stays. */
  refresh(): Promise<PriceSnapshot>;
};

const READ_MS = 20_000;
const KEEP_MS = 7 * 24 * 3_600_000;

export function makePriceList(config: GatewayConfig, environment: Environment, provider: Provider): PriceList {
  const { clock, keyValue, log, timers } = environment;
  const { catalogueShape, pricesFile, aliases } = config.upstream;
  let latest: PriceSnapshot | undefined;

  function parse(text: string, atMs: number): PriceSnapshot {
    const shape = pricesFile === null ? catalogueShape : "prices-file";
    const { snapshot, leftOut } = parseCatalogue(text, shape, atMs, aliases);
    if (snapshot.id !== latest?.id) {
      log("info", "prices", { snapshot: snapshot.id, models: snapshot.models.size, leftOut: leftOut.length });
    }
    return snapshot;
  }

  async function read(): Promise<string> {
    if (pricesFile !== null) return pricesFile;
    const abort = new AbortController();
    const timer = timers.after(READ_MS, () => abort.abort());
    try {
      return await provider.read("/models?type=all", abort.signal);
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
      const text = await keyValue.get(`prices:${id}`);
      return text === null ? undefined : parse(text, 0);
    },
    async refresh() {
      const atMs = clock.now();
      const text = await read();
      const snapshot = parse(text, atMs);
      if (snapshot.id !== latest?.id) await keyValue.put(`prices:${snapshot.id}`, text, { expiresAt: atMs + KEEP_MS });
      latest = snapshot;
      return snapshot;
    },
  };
}
