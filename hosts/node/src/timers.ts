import type { Timers } from "@inference/protocol/timers";

/** 0 ms is the next turn of the event loop, because a Node timer takes at least a millisecond. */
export const timers: Timers = {
  after(ms, callback) {
    if (ms === 0) {
      const next = setImmediate(callback);
      return { cancel: () => clearImmediate(next) };
    }
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
  monotonicMs: () => performance.now(),
};
