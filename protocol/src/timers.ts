/** The host's timers. */
export type Timers = {
  /**
   * Calls back once, and never after it was cancelled, whichever request cancels it. With 0 ms it calls back as soon
   * as possible in a later turn of the event loop.
   */
  after(ms: number, callback: () => void): { cancel(): void };
  /** A clock in ms that advances while code runs. Absent at the edge, where it stands still until the next event. */
  monotonicMs?(): number;
};

/** Runs work, and aborts its signal after a time. */
export async function within<T>(timers: Timers, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = timers.after(ms, () => controller.abort(new DOMException(`not within ${ms} ms`, "TimeoutError")));
  try {
    return await work(controller.signal);
  } finally {
    timer.cancel();
  }
}

/** The result of work that cannot be aborted. Throws if there is none after a time, and the work goes on. */
export function resultWithin<T>(timers: Timers, ms: number, work: Promise<T>): Promise<T> {
  const expired = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  return within(timers, ms, (signal) => Promise.race([work, expired(signal)]));
}

/** Resolves after a time, or when the signal is aborted. */
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
