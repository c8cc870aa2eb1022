import type { Timers } from "@inference/protocol/timers";

/** Work that is told by its signal when it has taken so long, and whose timer is over when it is. */
export async function within<T>(timers: Timers, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = timers.after(ms, () => controller.abort(new DOMException(`not within ${ms} ms`, "TimeoutError")));
  try {
    return await work(controller.signal);
  } finally {
    timer.cancel();
  }
}

/** Resolves after so long, or when the signal ends it. */
export function pause(timers: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, done);
    function done(): void {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
}
