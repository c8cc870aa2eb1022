import { Worker } from "node:worker_threads";

/** How often the event loop gives a sign of life, and how many missing signs end the process. */
export type WatchdogTimes = { tickMs: number; ticks: number };

const usualTimes: WatchdogTimes = { tickMs: 1_000, ticks: 30 };

/**
 * Ends the process with a log line when the event loop of this thread has stood still for 30 s, because a restart is
 * safe and a hang is not. The timer and the thread do not keep the process alive.
 */
export function startWatchdog({ tickMs, ticks }: WatchdogTimes = usualTimes): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), tickMs).unref();
  const workerData = { beats, tickMs, ticks };
  new Worker(new URL("./watchdog-worker.ts", import.meta.url), { workerData }).unref();
}

/**
 * Counts the watching thread's own ticks since the last heartbeat, and not the time: a suspended machine makes no
 * ticks.
 *
 * @returns Whether the watched thread has missed so many ticks.
 */
export function makeStandstill(ticks: number): (beats: number) => boolean {
  let seen: number | undefined;
  let missed = 0;
  return (beats) => {
    missed = beats === seen ? missed + 1 : 0;
    seen = beats;
    return missed >= ticks;
  };
}
