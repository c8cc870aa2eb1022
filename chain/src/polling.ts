import type { Timers } from "@inference/protocol/timers";
import type { PollResult } from "./settlement-watcher.ts";

/**
 * Polls now and then every `intervalMs`, and again at once while there is more to read. Stops when a poll halts.
 *
 * @returns Stops polling, and resolves when the running poll has ended.
 */
export function keepPolling(options: {
  watcher: { poll(): Promise<PollResult> };
  timers: Timers;
  intervalMs: number;
}): () => Promise<void> {
  const { watcher, timers, intervalMs } = options;
  let stopped = false;
  let timer: { cancel(): void } | undefined;
  let running = run();

  async function run(): Promise<void> {
    const result = await watcher.poll();
    if (stopped || result.outcome === "halted") return;
    const more = result.outcome === "advanced" && result.more;
    timer = timers.after(more ? 0 : intervalMs, () => {
      running = run();
    });
  }

  return () => {
    stopped = true;
    timer?.cancel();
    return running;
  };
}
