import type { Timers } from "@inference/protocol/timers";

/** As hosts have them. */
export const timers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};
