import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { Log } from "@inference/gateway/environment";
import { logText } from "./log.ts";
import { makeStandstill, type WatchdogTimes } from "./watchdog.ts";

const { beats, tickMs, ticks } = workerData as WatchdogTimes & { beats: Int32Array };
const STDERR = 2;
const hasStoodStill = makeStandstill(ticks);
// The streams of a worker are written by the main thread, which stands still.
const log: Log = (...line) => void writeSync(STDERR, logText(...line));

setInterval(() => {
  if (!hasStoodStill(Atomics.load(beats, 0))) return;
  try {
    log("alert", "event_loop_stuck", { ms: tickMs * ticks });
  } finally {
    // `process.exit` would end this thread alone.
    process.kill(process.pid, "SIGKILL");
  }
}, tickMs);
