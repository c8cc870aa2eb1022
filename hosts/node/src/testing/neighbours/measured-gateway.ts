import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { parseSettings } from "@inference/gateway/settings";
import { nodeSettings } from "../../settings.ts";
import { startNodeGateway } from "../../start.ts";

/** The gateway as `main.ts` runs it, which tells its parent how long its event loop stood and what memory it took. */
export type Measured = {
  /** The longest time in which nothing else was served. Other work of the machine counts too. */
  longestStandstillMs: number;
  /**
   * The longest turn of the event loop, in processor time of its thread: nothing else counts. A millisecond more or so.
   */
  longestTurnMs: number;
  /** The part of the time in which it had something to do. */
  busy: number;
  peakRssMib: number;
  rssMib: number;
};

const SAMPLED_EACH_MS = 2;
const MIB = 1024 * 1024;

const delays = monitorEventLoopDelay({ resolution: SAMPLED_EACH_MS });
delays.enable();
let from = performance.eventLoopUtilization();
let peak = 0;
let longestTurnMs = 0;
let usedMs = cpuMs();
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 20).unref();
setInterval(() => {
  const now = cpuMs();
  longestTurnMs = Math.max(longestTurnMs, now - usedMs);
  usedMs = now;
}, 1).unref();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The figures since the last call. */
process.on("message", () => {
  const beyond = (ns: number): number => Math.max(0, ns / 1e6 - SAMPLED_EACH_MS);
  const rss = process.memoryUsage.rss();
  process.send?.({
    longestStandstillMs: beyond(delays.max),
    longestTurnMs,
    busy: performance.eventLoopUtilization(from).utilization,
    peakRssMib: Math.max(peak, rss) / MIB,
    rssMib: rss / MIB,
  } satisfies Measured);
  delays.reset();
  longestTurnMs = 0;
  from = performance.eventLoopUtilization();
  peak = 0;
});
const gateway = await startNodeGateway(parseSettings(nodeSettings, process.env), { pricesFile: null });
process.on("SIGTERM", () => {
  void gateway.stop().then(() => process.exit(0));
});
process.stdout.write(`${JSON.stringify({ event: "listening", url: gateway.url })}\n`);
