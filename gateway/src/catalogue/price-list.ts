import { fail } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { within } from "@inference/protocol/timers";
import { type GatewayConfig, limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { type CatalogueShape, parseCatalogue } from "./catalogue.ts";

/**
 * The prices in force: a snapshot that is read again every five minutes and not used after fifteen. Each new snapshot
 * is stored, so that a hold of an earlier process can be settled at the prices that it was made at.
 */
export type PriceList = {
  /** Throws `upstream_unavailable` if there are no prices, or only old ones. */
  current(): PriceSnapshot;
  /**
   * The snapshot with this id, current or earlier; undefined if it is not stored. Throws `CatalogueError` if it cannot
   * be parsed any more, and what the key-value store throws.
   */
  byId(id: string): Promise<PriceSnapshot | undefined>;
  /**
   * Reads the catalogue again, or joins the read in progress, so that no read overwrites a later one. Throws if it
   * fails; the earlier prices stay.
   */
  refresh(): Promise<PriceSnapshot>;
  /** The provider says that a listed model is gone: refreshes, unless it just tried. Never throws. */
  modelGone(): Promise<void>;
};

/** Reads a path of the provider as text; null if it does not exist. Throws `UpstreamFailure`. */
type CatalogueSource = { read(path: string, signal: AbortSignal): Promise<string | null> };

const READ_MS = 20_000;
const KEEP_MS = 7 * 24 * 3_600_000;
const KEEP_AGAIN_MS = 24 * 3_600_000;

export function makePriceList(
  config: Pick<GatewayConfig, "upstream">,
  environment: Pick<Environment, "clock" | "keyValue" | "log" | "timers">,
  provider: CatalogueSource,
): PriceList {
  const { clock, keyValue, log, timers } = environment;
  const { pricesFile, aliases } = config.upstream;
  const shapeToday = pricesFile === null ? config.upstream.catalogueShape : "prices-file";
  let latest: PriceSnapshot | undefined;
  let keptAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<PriceSnapshot> | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** An earlier snapshot: many holds of one process have the same one. */
  let earlier: PriceSnapshot | undefined;

  async function readAgain(): Promise<PriceSnapshot> {
    const atMs = clock.now();
    triedAtMs = atMs;
    const text = await read();
    const { snapshot, shape, leftOut } = parseCatalogue(text, shapeToday, atMs, aliases);
    const { id } = snapshot;
    const isNew = id !== latest?.id;
    if (isNew) told(snapshot, leftOut.length);
    // It is stored already, so it is in force even if its time in the store cannot be extended.
    else latest = snapshot;
    if (isNew || atMs - keptAtMs >= KEEP_AGAIN_MS) {
      // The shape too: a later process may have other settings. An earlier version stored the text only.
      await keyValue.put(`prices-shape:${id}`, shape, { expiresAt: atMs + KEEP_MS });
      await keyValue.put(`prices:${id}`, text, { expiresAt: atMs + KEEP_MS });
      keptAtMs = atMs;
    }
    latest = snapshot;
    return snapshot;
  }

  /** Alerts on an alias of a model that is not listed. The provider may list it again, so this is no error. */
  function told({ id, models }: PriceSnapshot, leftOut: number): void {
    log("info", "prices", { snapshot: id, models: models.size, leftOut });
    for (const [alias, model] of Object.entries(aliases)) {
      if (!models.has(model)) log("alert", "alias", { alias, model });
    }
  }

  function refresh(): Promise<PriceSnapshot> {
    underWay ??= readAgain().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function read(): Promise<string> {
    if (pricesFile !== null) return pricesFile;
    const text = await within(timers, READ_MS, (signal) => provider.read("/models?type=all", signal));
    if (text === null) throw new UpstreamFailure("sent", "the provider has no catalogue");
    return text;
  }

  return {
    current() {
      if (latest === undefined || clock.now() - latest.atMs > limits.catalogueMaxAgeMs) {
        const message = "The provider's prices are not known. Nothing was charged. Retry in a few seconds.";
        return fail("upstream_unavailable", message, { retryAfterS: 5 });
      }
      return latest;
    },
    async byId(id) {
      if (latest?.id === id) return latest;
      if (earlier?.id === id) return earlier;
      const [text, shape] = await Promise.all([keyValue.get(`prices:${id}`), keyValue.get(`prices-shape:${id}`)]);
      if (text === null) return undefined;
      earlier = parseCatalogue(text, (shape ?? shapeToday) as CatalogueShape, 0).snapshot;
      return earlier;
    },
    refresh,
    async modelGone() {
      if (Math.abs(clock.now() - triedAtMs) < limits.goneModelRefreshMs) return;
      await refresh().catch((error: unknown) => log("warn", "prices_failed", { error: String(error) }));
    },
  };
}
