import { fail } from "@inference/protocol/errors";
import { joined } from "@inference/protocol/joined";
import type { Price, PriceSnapshot } from "@inference/protocol/model";
import { within } from "@inference/protocol/timers";
import { type GatewayConfig, limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { type Catalogue, parseCatalogue } from "./catalogue.ts";
import { CatalogueError } from "./catalogue-error.ts";
import { type ListedItems, listedItems, overlay } from "./overlay.ts";
import { readPriceText } from "./price-text.ts";

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
  /** Models of the operator's price file that the provider did not list at the last read. They are not offered. */
  unlisted(): readonly string[];
  /** The provider says that a listed model is gone: refreshes, unless it just tried. Never throws. */
  modelGone(): Promise<void>;
  /**
   * A usage of tokens of the model was above its request's bound, which is our loss. The third one takes the model out
   * of service until the gateway starts again, unless UPSTREAM_PROBE permits such a provider.
   */
  exceededBound(model: string): void;
};

/** Reads a path of the provider as text; null if it does not exist. Throws `UpstreamFailure`. */
type CatalogueSource = { read(path: string, signal: AbortSignal): Promise<string | null> };

const READ_MS = 20_000;
/** Usages above their bound after which a model is no longer served. */
const MOST_EXCESSES = 3;

export function makePriceList(
  config: Pick<GatewayConfig, "upstream">,
  environment: Pick<Environment, "background" | "clock" | "keyValue" | "log" | "timers">,
  provider: CatalogueSource,
): PriceList {
  const { background, clock, keyValue, log, timers } = environment;
  const { pricesFile, aliases, catalogueShape: shape } = config.upstream;
  const betaModels = config.upstream.betaModels === "on";
  let latest: PriceSnapshot | undefined;
  /** The text of its prices, of models that are out of service too. */
  let latestPrices: string | undefined;
  /** Usages above their bound, by model. */
  const excesses = new Map<string, number>();
  /** The texts of snapshots that may not be stored yet, by id. */
  const unkept = new Map<string, string>();
  /** The list that the price file lies over; null if the provider gave none. */
  let list: ListedItems | null = null;
  let unlisted: readonly string[] = [];
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** The prices that were read last: many holds of one process have the same. */
  let earlier: { id: string; prices: ReadonlyMap<string, Price> } | undefined;

  async function readAgain(): Promise<PriceSnapshot> {
    const atMs = clock.now();
    triedAtMs = atMs;
    const { snapshot, prices, leftOut } = await read(atMs);
    const { id } = snapshot;
    if (id !== latest?.id) {
      told(snapshot, leftOut.length);
      unkept.set(id, prices);
    }
    latest = { ...snapshot, models: served(snapshot) };
    latestPrices = prices;
    background(keep());
    return latest;
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
    if (unlisted.length > 0) log("alert", "unlisted", { models: unlisted.join(" ") });
  }

  const refresh = joined(readAgain);

  async function read(atMs: number): Promise<Catalogue> {
    const terms = { shape, atMs, aliases, betaModels };
    if (pricesFile === null) {
      const text = await readList();
      if (text === null) throw new UpstreamFailure("sent", "the provider has no catalogue");
      return parseCatalogue(text, terms);
    }
    // A provider without a list, or one that cannot be read, does not put the operator's prices out of force.
    try {
      const text = await readList();
      list = text === null ? null : listedItems(text);
    } catch (error) {
      if (!(error instanceof UpstreamFailure || error instanceof CatalogueError)) throw error;
      log("warn", "catalogue_read_failed", { path: "/models", error: String(error) });
    }
    const catalogue = overlay(pricesFile, list, terms);
    ({ unlisted } = catalogue);
    return catalogue;
  }

  function readList(): Promise<string | null> {
    return within(timers, READ_MS, (signal) => provider.read("/models?type=all", signal));
  }

  async function textOf(id: string): Promise<string | undefined> {
    if (latest?.id === id) return latestPrices;
    return unkept.get(id) ?? (await keyValue.get(keyOf(id))) ?? undefined;
  }

  function served({ models }: PriceSnapshot): PriceSnapshot["models"] {
    const isServed = (id: string): boolean => (excesses.get(id) ?? 0) < MOST_EXCESSES;
    return new Map([...models].filter(([id]) => isServed(id)));
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
    unlisted: () => unlisted,
    async modelGone() {
      if (Math.abs(clock.now() - triedAtMs) < limits.goneModelRefreshMs) return;
      await refresh().catch((error: unknown) => log("warn", "prices_failed", { error: String(error) }));
    },
    exceededBound(model) {
      if (config.upstream.probe !== "strict") return;
      const times = (excesses.get(model) ?? 0) + 1;
      excesses.set(model, times);
      if (times !== MOST_EXCESSES || latest === undefined) return;
      latest = { ...latest, models: served(latest) };
      const alert = `it reported more than a request could use ${times} times: find out why, and start again`;
      log("alert", "model_out_of_service", { model, alert });
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
