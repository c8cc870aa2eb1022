import { type Anvil, startAnvil } from "@inference/chain/testing/anvil";
import { deploySettlement } from "@inference/chain/testing/settlement";
import { agentTokens, CAPACITY_NANO_USD, testOffers } from "@inference/gateway/test/suites/offers";
import type { Address } from "@inference/protocol/credential";
import { startEdge } from "./testing/edge.ts";

/** Contracts that answer everything with one word: the pool with a capacity, the registry with a computer. */
const pool: Address = "0x0000000000000000000000000000000000c0de01";
const registry: Address = "0x0000000000000000000000000000000000c0de02";

testOffers(async () => {
  const chain = await startAnvil();
  const settlement = await deploySettlement(chain.rpcUrl, { pool, registry });
  await answers(chain, pool, CAPACITY_NANO_USD.toString(16));
  const settings = { PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: settlement, CHAIN_POLL_MS: "1000" };
  const edge = await startEdge(settings, { subKeys: true });
  return {
    host: edge,
    settlement: { chainId: 31_337, address: settlement },
    async setSeller({ owner, computer }) {
      await answers(chain, registry, computer.slice(2));
      for (const token of agentTokens) await answers(chain, token, owner.slice(2));
    },
    async stop() {
      await edge.stop();
      await chain.stop();
    },
  };
});

function answers(chain: Anvil, address: Address, word: string): Promise<unknown> {
  return chain.rpc("anvil_setCode", [address, `0x7f${word.toLowerCase().padStart(64, "0")}5f5260205ff3`]);
}
