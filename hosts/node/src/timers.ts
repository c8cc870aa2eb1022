import type { Timers } from "@inference/protocol/timers";

/** 0 ms is the next turn of the event loop, because a Node timer takes at least a millisecond. */
export const timers: Timers = {
  after(ms, callback) {
    if (ms === 0) {
      const next = setImmediate(callback);
      return { cancel: () => clearImmediate(next) };
    }
    return new Timer(setTimeout(callback, ms));
  },
  monotonicMs: () => performance.now(),
};

/** A class, because several are made for every request, and a class makes its methods once. */
class Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(timeout: NodeJS.Timeout) {
    this.#timeout = timeout;
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }
}
