import { parentPort, workerData } from "node:worker_threads";
import { makeApp } from "@inference/gateway/app";
import type { GatewayConfig } from "@inference/gateway/config";
import { makeGateway } from "@inference/gateway/gateway";
import { firstPrices, keepFresh } from "@inference/gateway/jobs/jobs";
import { makeBackground } from "../background.ts";
import { readDashboard } from "../dashboard.ts";
import { gzip } from "../gzip.ts";
import { type ListenSettings, listen } from "../listen.ts";
import { logWhatIsPrinted } from "../log.ts";
import { randomBytes } from "../random.ts";
import { timers } from "../timers.ts";
import { openUpstream } from "../upstream.ts";
import { openChannel } from "./channel.ts";
import { remoteEnvironment, type Standing } from "./remote-environment.ts";
import { sharedLimits } from "./shared-limits.ts";

/** One of the threads that serve HTTP on the same port. Ledger, key-value store and chain are in the main thread. */
export type ThreadData = {
  config: GatewayConfig;
  listening: ListenSettings;
  dashboard: { BASE_URL: string; DASHBOARD_SCRIPT: string | undefined };
  standing: Standing;
};

if (parentPort === null) throw new Error("http-thread.ts is run by serve-threads.ts");
const { config, listening, dashboard: dashboardSettings, standing: first } = workerData as ThreadData;
let standing = first;
let stop: (() => Promise<void>) | undefined;

const channel = openChannel(parentPort, {
  start,
  stop: () => stop?.(),
  standing(next: Standing) {
    standing = next;
  },
  counts: () => gateway.metrics.counts,
  breaker: (event: never) => limits.handlers.breaker?.(event),
  tooMany: (...args: never[]) => limits.handlers.tooMany?.(...args),
});
const limits = sharedLimits(config, channel);
const remote = remoteEnvironment(channel, () => standing);
logWhatIsPrinted(remote.log);
const upstream = openUpstream(config.upstream.baseUrl);
const background = makeBackground();
const dashboard = readDashboard(dashboardSettings);
const gateway = makeGateway(
  config,
  {
    ...remote,
    clock: { now: Date.now },
    random: { bytes: randomBytes },
    upstream,
    background: background.add,
    timers,
    ...(dashboard === undefined ? {} : { dashboard }),
    gzip,
  },
  limits,
);

/** Listens. Throws `SettingsError` as a gateway of one thread. */
async function start(): Promise<void> {
  await firstPrices(gateway);
  const stopJobs = keepFresh(gateway);
  const server = await listen(makeApp(gateway), listening);
  stop = async () => {
    await server.close();
    await background.settled(STOP_MS);
    await stopJobs();
    await upstream.close();
  };
}

/** How long a stop waits for work in the background. The sweeper of the next start ends the rest. */
const STOP_MS = 20_000;
