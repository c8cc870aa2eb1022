/** The references between the agents' contracts. */
import type { Address } from "viem";
import { agentFeeConverter } from "../generated/agent-fee-converter.ts";
import { agentRegistry } from "../generated/agent-registry.ts";
import { backerVault } from "../generated/backer-vault.ts";
import { inferencePool } from "../generated/inference-pool.ts";
import { addressIn, type ChainPlan } from "./contract-plan.ts";
import type { Wire } from "./wire.ts";

export function agentWires(plan: ChainPlan): Wire[] {
  const { agents, stablecoin, primary } = plan.chain;
  if (agents === undefined) return [];
  const at = (name: string): Address => addressIn(plan, name);
  const registry = { address: at("AgentRegistry"), abi: agentRegistry.abi };
  const vault = { address: at("BackerVault"), abi: backerVault.abi };
  const converter = { address: at("AgentFeeConverter"), abi: agentFeeConverter.abi };
  const pool = { address: at("InferencePool"), abi: inferencePool.abi };
  return [
    ...(primary === undefined ? [] : [{ ...pool, functionName: "STAKING_TOKEN", expected: agents.stakingToken }]),
    { ...registry, functionName: "POOL", expected: at("InferencePool") },
    { ...registry, functionName: "CONVERTER", expected: at("AgentFeeConverter") },
    { ...registry, functionName: "SAFE_FACTORY", expected: agents.safeProxyFactory },
    { ...registry, functionName: "SAFE_SINGLETON", expected: agents.safeSingleton },
    { ...registry, functionName: "SAFE_FALLBACK_HANDLER", expected: agents.safeFallbackHandler },
    { ...vault, functionName: "TOKEN", expected: at("InferenceToken") },
    { ...vault, functionName: "STAKING_TOKEN", expected: agents.stakingToken },
    { ...vault, functionName: "POOL", expected: at("InferencePool") },
    { ...vault, functionName: "REGISTRY", expected: at("AgentRegistry") },
    { ...vault, functionName: "CONVERTER", expected: at("AgentFeeConverter") },
    { ...converter, functionName: "REGISTRY", expected: at("AgentRegistry") },
    { ...converter, functionName: "VAULT", expected: at("BackerVault") },
    { ...converter, functionName: "MINTER", expected: at("TokenMinter") },
    { ...converter, functionName: "STABLECOIN", expected: stablecoin },
    { ...converter, functionName: "UNISWAP_FACTORY", expected: agents.uniswapFactory },
    { ...converter, functionName: "TIMELOCK", expected: at("TimelockController") },
    ...agents.listings.flatMap(({ token, window, slippageTicks }) => {
      const market = { ...converter, functionName: "marketOf", args: [token] };
      return [
        { ...market, part: "window", expected: window },
        { ...market, part: "slippageTicks", expected: slippageTicks },
      ];
    }),
  ];
}
