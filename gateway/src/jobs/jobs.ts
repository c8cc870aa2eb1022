import type { LapsedHold } from "@inference/ledger/client";
import { resultWithin } from "@inference/protocol/timers";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { SettingsError } from "../settings.ts";
import { forgetAll } from "./forget.ts";
import { lowerDue } from "./lower.ts";
import { makeNotifier } from "./notify.ts";
import { orphanAll, sweep } from "./sweep.ts";

const usualTimes = {
  /** Time between two sweeps. */
  sweepMs: 5_000,
  /** Time between two runs of forgetting. */
  forgetMs: 3_600_000,
  /** Time between two looks for notices to send. */
  notifyMs: 2_000,
  /** How long the sweeper waits for the provider's record of an orphaned request. */
  orphanGraceMs: limits.orphanGraceMs as number,
};
export type JobTimes = typeof usualTimes;

/**
 * Starts the jobs of a gateway: it reads prices and offers again, ends orphaned holds, lowers allowances, sends
 * notices to webhooks, and forgets old rows. Throws if there are no prices at the start. The result stops the jobs, and
 * resolves once none is running.
 *
 * @param abandoned Holds of a process that has ended.
 */
export async function startJobs(
  gateway: Gateway,
  abandoned: readonly LapsedHold[],
  times: Partial<JobTimes> = {},
): Promise<() => Promise<void>> {
  const { sweepMs, forgetMs, notifyMs, orphanGraceMs } = { ...usualTimes, ...times };
  await firstPrices(gateway);
  await orphanAll(gateway, abandoned, orphanGraceMs);
  const notifier = makeNotifier(gateway);
  const stops = [
    every(gateway, sweepMs, (stopped) => sweep(gateway, orphanGraceMs, stopped)),
    every(gateway, forgetMs, (stopped) => forgetAll(gateway, stopped)),
    every(gateway, sweepMs, (stopped) => lowerDue(gateway, stopped)),
    every(gateway, notifyMs, (stopped) => notifier.begin(stopped)),
    every(gateway, limits.catalogueRefreshMs, () => gateway.prices.refresh()),
    every(gateway, limits.capacityFreshMs, () => gateway.openOffers.refresh()),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
    // Tries that a full disk keeps from being recorded are made again.
    await resultWithin(gateway.environment.timers, LAST_NOTICES_MS, notifier.settled()).catch(() => undefined);
  };
}

/** How long a stop waits for the tries of notices to be recorded. */
const LAST_NOTICES_MS = 2_000;

function every(
  gateway: Gateway,
  intervalMs: number,
  work: (stopped: AbortSignal) => Promise<unknown>,
): () => Promise<void> {
  const { timers, log } = gateway.environment;
  const stop = new AbortController();
  let running = Promise.resolve();
  let timer = timers.after(intervalMs, run);
  function run(): void {
    running = work(stop.signal)
      .catch((error: unknown) => log("alert", "job_failed", { error: String(error) }))
      .then(() => {
        if (!stop.signal.aborted) timer = timers.after(intervalMs, run);
      });
  }
  return () => {
    stop.abort();
    timer.cancel();
    return running;
  };
}

/** Throws `SettingsError` if there are no prices, or if an alias names a model that the operator's price file lacks. */
export async function firstPrices({ config, prices }: Pick<Gateway, "config" | "prices">): Promise<void> {
  const { baseUrl, pricesFile, aliases } = config.upstream;
  try {
    const { models } = await prices.refresh();
    if (models.size === 0 && prices.unlisted().length > 0) {
      throw new SettingsError(`the provider lists none of its models: ${prices.unlisted().join(", ")}`);
    }
    if (models.size === 0) throw new SettingsError("it lists no model that can be priced and served");
    for (const [alias, ids] of pricesFile === null ? [] : Object.entries(aliases)) {
      // Models that the provider does not list are named apart, and UPSTREAM_PROBE can permit them.
      const unserved = ids.find((id) => !models.has(id) && !prices.unlisted().includes(id));
      if (unserved !== undefined) throw new SettingsError(`it has no ${unserved}, which MODEL_ALIASES calls ${alias}`);
    }
  } catch (error) {
    const source = pricesFile === null ? `UPSTREAM_BASE_URL: the catalogue at ${baseUrl}/models` : "PRICES_FILE: it";
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`The gateway cannot start. ${source} cannot be used: ${why}`);
  }
}
