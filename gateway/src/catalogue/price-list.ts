import { fail } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { within } from "@inference/protocol/timers";
import { type GatewayConfig, limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { type CatalogueShape, parseCatalogue } from "./catalogue.ts";

/**
 * The prices in force: a snapshot, read again every five minutes and refused past fifteen. Each new one is written
 * down, so that a hold of an earlier process can be settled at the prices it was made at.
 */
export type PriceList = {
  /** Throws `upstream_unavailable` if there are no prices, or only old ones. */
  current(): PriceSnapshot;
  /**
   * The snapshot of this id, of now or of before; undefined if it was never written down. Throws `CatalogueError` if it
   * cannot be read any more, and whatever the key-value store throws.
   */
  byId(id: string): Promise<PriceSnapshot | undefined>;
  /**
   * Reads the catalogue again, or joins the reading that is under way, so that none overwrites a later one. Throws if
   * that fails; what was read before stays.
   */
  refresh(): Promise<PriceSnapshot>;
  /** The provider says that a listed model is gone: refreshes, unless that was tried a moment ago. Never throws. */
  modelGone(): Promise<void>;
};

/** Whose catalogue it is: reads a path as text; null where there is none. Throws `UpstreamFailure`. */
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
  /** An earlier one: many holds of one process are settled at the same. */
  let earlier: PriceSnapshot | undefined;

  async function readAgain(): Promise<PriceSnapshot> {
    const atMs = clock.now();
    triedAtMs = atMs;
    const text = await read();
    const { snapshot, shape, leftOut } = parseCatalogue(text, shapeToday, atMs, aliases);
    const { id } = snapshot;
    const isNew = id !== latest?.id;
    if (isNew) told(snapshot, leftOut.length);
    // What is kept already is in force, whether or not it can be kept for longer.
    else latest = snapshot;
    if (isNew || atMs - keptAtMs >= KEEP_AGAIN_MS) {
      // How it is to be read, for a later process may be set otherwise; an earlier version knows the text alone.
      await keyValue.put(`prices-shape:${id}`, shape, { expiresAt: atMs + KEEP_MS });
      await keyValue.put(`prices:${id}`, text, { expiresAt: atMs + KEEP_MS });
      keptAtMs = atMs;
    }
    latest = snapshot;
    return snapshot;
  }

  /** A provider may list a model again: an alias of one that it does not list is told, and keeps nobody out. */
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
