import { testTime } from "@inference/gateway/test/time";
import { startStack } from "./testing/stack.ts";

testTime(async () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const stack = await startStack({ now });
  return {
    url: stack.url,
    controlUrl: stack.simulator.controlUrl,
    key: async (limit) => (await stack.account(1_000_000_000, limit)).key,
    now,
    async goTo(at) {
      aheadMs = at - Date.now();
      // The job that reads prices again goes by a timer, which knows nothing of this clock.
      await stack.gateway.prices.refresh();
    },
    stop: stack.stop,
  };
});
