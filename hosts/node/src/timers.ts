import type { Timers } from "@inference/protocol/timers";

/** After no time at all is the next turn of the event loop: a timer of Node's takes a millisecond at least. */
export const timers: Timers = {
  after(ms, callback) {
    if (ms === 0) {
      const next = setImmediate(callback);
      return { cancel: () => clearImmediate(next) };
    }
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};
