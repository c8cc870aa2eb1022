import type { LapsedHold } from "@inference/ledger/client";
import { limits } from "./config.ts";
import type { Gateway } from "./gateway.ts";
import { orphanAll, sweep } from "./inference/sweep.ts";

/**
 * What a gateway does on its own: it reads the prices again, and ends holds that nobody works on. Throws if there are no
 * prices to begin with. The result stops the jobs.
 *
 * @param abandoned Holds of a process that is known to be gone.
 */
export async function startJobs(gateway: Gateway, abandoned: readonly LapsedHold[]): Promise<() => void> {
  await gateway.prices.refresh();
  await orphanAll(gateway, abandoned);
  const stops = [
    every(gateway, SWEEP_MS, () => sweep(gateway)),
    every(gateway, limits.catalogueRefreshMs, () => gateway.prices.refresh()),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

const SWEEP_MS = 5_000;

function every(gateway: Gateway, intervalMs: number, work: () => Promise<unknown>): () => void {
  const { timers, log } = gateway.environment;
  let stopped = false;
  let timer = timers.after(intervalMs, run);
  function run(): void {
    work()
      .catch((error: unknown) => log("alert", "job_failed", { error: String(error) }))
      .finally(() => {
        if (!stopped) timer = timers.after(intervalMs, run);
      });
  }
  return () => {
    stopped = true;
    timer.cancel();
  };
}
