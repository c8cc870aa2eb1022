import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTreasuryAbi } from "@inference/protocol/abi/agent-treasury";
import { type Address, erc20Abi, zeroAddress } from "viem";
import type { Chore, Duty } from "./chore.ts";
import { createEventReader } from "./event-reader.ts";
import { contractOn, type KeeperChain } from "./keeper-chain.ts";

/** The market's answers to a price beyond the floor, and to a history that is too short. */
const MARKET_NOT_DUE = ["SPL", "OLD"];

/** Agents' fees: converts what was taken of them. Anyone can be an agent and have a fee: dust is not worth the gas. */
export function conversionDuty(chain: KeeperChain, minPayment: bigint): Duty {
  const converter = { address: contractOn(chain, "agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  const taken = createEventReader(chain, { ...converter, eventName: "FeeTaken" });

  return async () => {
    const pairs = new Map((await taken()).map(({ args }) => [`${args.agent}:${args.feeToken}`, args]));
    const chores: Chore[] = [];
    for (const { agent, feeToken } of pairs.values()) {
      const pending = { ...converter, functionName: "pending", args: [agent, feeToken] } as const;
      if ((await chain.reader.readContract(pending)) === 0n) continue;
      const call = { ...converter, functionName: "convert", args: [agent, feeToken] };
      const notDue = ["NothingToConvert", "NotListed", ...MARKET_NOT_DUE];
      chores.push({ name: "convert", chain, call, atLeast: minPayment, notDue });
    }
    return { chores, delays: [] };
  };
}

/** Agents' treasuries: buys the staking-derived token with their dollars. */
export function purchaseDuty(primary: KeeperChain, minPayment: bigint): Duty {
  const registry = { address: contractOn(primary, "agentRegistry"), abi: agentRegistryAbi } as const;
  const births = createEventReader(primary, { ...registry, eventName: "AgentCreated" });

  return async () => {
    const chores: Chore[] = [];
    for (const { args } of await births()) {
      if (args.treasury === zeroAddress || !(await hasEnough(primary, args.treasury, minPayment))) continue;
      const call = { address: args.treasury, abi: agentTreasuryAbi, functionName: "buy", args: [] };
      chores.push({ name: "buy", chain: primary, call, notDue: ["NothingToEnter", "NotListed", ...MARKET_NOT_DUE] });
    }
    return { chores, delays: [] };
  };
}

async function hasEnough({ reader }: KeeperChain, treasury: Address, minPayment: bigint): Promise<boolean> {
  const contract = { address: treasury, abi: agentTreasuryAbi } as const;
  const address = await reader.readContract({ ...contract, functionName: "STABLECOIN" });
  const decimals = await reader.readContract({ address, abi: erc20Abi, functionName: "decimals" });
  const dollars = { address, abi: erc20Abi, functionName: "balanceOf", args: [treasury] } as const;
  return (await reader.readContract(dollars)) >= minPayment * 10n ** BigInt(decimals - 6);
}
