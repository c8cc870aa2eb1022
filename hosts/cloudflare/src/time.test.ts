import { testTime } from "@inference/gateway/test/time";
import type { Address } from "@inference/protocol/credential";
import { startEdge } from "./testing/edge.ts";
import { shiftedClock } from "./testing/shifted-clock.ts";

testTime(async () => {
  const edge = await startEdge({}, { entry: new URL("testing/shifted-worker.ts", import.meta.url) });
  const { now, goTo } = shiftedClock(edge);
  let accounts = 0;
  return {
    url: edge.url,
    controlUrl: edge.simulator.controlUrl,
    async key(limit) {
      accounts += 1;
      const address: Address = `0x${accounts.toString(16).padStart(40, "0")}`;
      return (await edge.fund(address, limit)).key;
    },
    now,
    goTo,
    stop: edge.stop,
  };
});
