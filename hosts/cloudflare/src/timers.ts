import type { Environment } from "@inference/gateway/environment";

export const timers: Environment["timers"] = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};
