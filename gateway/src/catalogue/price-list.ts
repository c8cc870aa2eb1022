import { fail } from "@inference/protocol/errors";
import { joined } from "@inference/protocol/joined";
import type { Price, PriceSnapshot } from "@inference/protocol/model";
import { within } from "@inference/protocol/timers";
import { type GatewayConfig, limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { parseCatalogue } from "./catalogue.ts";
import { priceText, readPriceText } from "./price-text.ts";

/**
 * The prices in force: a snapshot that is read again every five minutes and not used after fifteen. The prices of each
 * snapshot are stored once, in the background, and never deleted: a hold of an earlier process is settled at the prices
 * that it was made at, and anybody can compare a receipt with them. No request waits for this write.
 */
export type PriceList = {
  /** Undefined if there are no prices, or only old ones. */
  known(): PriceSnapshot | undefined;
  /** The same. Throws `upstream_unavailable` in place of undefined. */
  current(): PriceSnapshot;
  /**
   * The prices by model of the snapshot with this id, current or earlier; undefined if they are not known. Throws
   * `CatalogueError` for prices that cannot be read, and the errors of the key-value store.
   */
  byId(id: string): Promise<ReadonlyMap<string, Price> | undefined>;
  /** The same as text, whose SHA-256 begins with the id. */
  textOf(id: string): Promise<string | undefined>;
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

export function makePriceList(
  config: Pick<GatewayConfig, "upstream">,
  environment: Pick<Environment, "background" | "clock" | "keyValue" | "log" | "timers">,
  provider: CatalogueSource,
): PriceList {
  const { background, clock, keyValue, log, timers } = environment;
  const { pricesFile, aliases } = config.upstream;
  const shape = pricesFile === null ? config.upstream.catalogueShape : "prices-file";
  let latest: PriceSnapshot | undefined;
  /** The texts of snapshots that may not be stored yet, by id. */
  const unkept = new Map<string, string>();
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** The prices that were read last: many holds of one process have the same. */
  let earlier: { id: string; prices: ReadonlyMap<string, Price> } | undefined;

  async function readAgain(): Promise<PriceSnapshot> {
    const atMs = clock.now();
    triedAtMs = atMs;
    const text = await read();
    const { snapshot, prices, leftOut } = parseCatalogue(text, shape, atMs, aliases);
    const { id } = snapshot;
    if (id !== latest?.id) {
      told(snapshot, leftOut.length);
      unkept.set(id, prices);
    }
    latest = snapshot;
    background(keep());
    return snapshot;
  }

  /**
   * Stores what is not stored. The key is the digest of the text, so any gateway may have stored it. A write that fails
   * is tried again after the next read of the catalogue.
   */
  async function keep(): Promise<void> {
    for (const [id, prices] of unkept) {
      try {
        if ((await keyValue.get(keyOf(id))) === null) await keyValue.put(keyOf(id), prices);
        unkept.delete(id);
      } catch (error) {
        log("warn", "prices_not_kept", { snapshot: id, error: String(error) });
      }
    }
  }

  /** Alerts on an alias of a model that is not listed. The provider may list it again, so this is no error. */
  function told({ id, models }: PriceSnapshot, leftOut: number): void {
    log("info", "prices", { snapshot: id, models: models.size, leftOut });
    for (const [alias, ids] of Object.entries(aliases)) {
      for (const model of ids) if (!models.has(model)) log("alert", "alias", { alias, model });
    }
  }

  const refresh = joined(readAgain);

  async function read(): Promise<string> {
    if (pricesFile !== null) return pricesFile;
    const text = await within(timers, READ_MS, (signal) => provider.read("/models?type=all", signal));
    if (text === null) throw new UpstreamFailure("sent", "the provider has no catalogue");
    return text;
  }

  async function textOf(id: string): Promise<string | undefined> {
    if (latest?.id === id) return priceText(latest.models.values());
    return unkept.get(id) ?? (await keyValue.get(keyOf(id))) ?? undefined;
  }

  function known(): PriceSnapshot | undefined {
    return latest === undefined || clock.now() - latest.atMs > limits.catalogueMaxAgeMs ? undefined : latest;
  }

  return {
    known,
    current: () => known() ?? pricesUnknown(),
    async byId(id) {
      if (earlier?.id === id) return earlier.prices;
      const text = await textOf(id);
      if (text === undefined) return undefined;
      earlier = { id, prices: readPriceText(text) };
      return earlier.prices;
    },
    textOf,
    refresh,
    async modelGone() {
      if (Math.abs(clock.now() - triedAtMs) < limits.goneModelRefreshMs) return;
      await refresh().catch((error: unknown) => log("warn", "prices_failed", { error: String(error) }));
    },
  };
}

export function pricesUnknown(): never {
  const message = "The provider's prices are not known. Nothing was charged. Retry in a few seconds.";
  return fail("upstream_unavailable", message, { retryAfterS: 5 });
}

function keyOf(id: string): string {
  return `price-list:${id}`;
}
