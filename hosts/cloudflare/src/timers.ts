import type { Timers } from "@inference/protocol/timers";

/**
 * A timer belongs to the request that set it: the runtime ignores another request that clears it, and it fires all the
 * same. So what was cancelled is remembered here.
 */
export const timers: Timers = {
  after(ms, callback) {
    let isCancelled = false;
    const timer = setTimeout(() => {
      if (!isCancelled) callback();
    }, ms);
    return {
      cancel() {
        isCancelled = true;
        clearTimeout(timer);
      },
    };
  },
};
