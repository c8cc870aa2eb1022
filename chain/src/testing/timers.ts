import type { Timers } from "@inference/protocol/timers";

/** The timers of hosts. */
export const timers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};
