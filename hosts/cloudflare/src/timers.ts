import type { Timers } from "@inference/protocol/timers";

/**
 * A timer belongs to the request that set it. If another request clears it, the runtime ignores that and the timer
 * still fires. So each timer remembers whether it was cancelled.
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
