import { CAPACITY_NANO_USD, type Seller, testOffers } from "@inference/gateway/test/suites/offers";
import { startStack } from "./testing/stack.ts";

testOffers(async () => {
  let seller: Seller | null = null;
  const host = await startStack({
    subKeys: true,
    chain: {
      agentSeller: async () => seller,
      agentOwner: async () => seller?.owner ?? null,
      capacityToday: async () => ({ capacityNanoUsd: CAPACITY_NANO_USD, at: host.now() }),
    },
  });
  return {
    host,
    settlement: host.gateway.config.settlement,
    async setSeller(next) {
      seller = next;
    },
    stop: host.stop,
  };
});
