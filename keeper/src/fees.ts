import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTreasuryAbi } from "@inference/protocol/abi/agent-treasury";
import { stablecoinUnits } from "@inference/protocol/money";
import { erc20Abi, zeroAddress } from "viem";
import { contractOn, inBatches, type KeeperChain } from "./keeper-chain.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** The market's errors for a price beyond the limit, and for a price history that is too short. */
const MARKET_NOT_DUE = ["SPL", "OLD"];

/** Converts agents' fees. Amounts that are not worth the gas are skipped, because anyone can be an agent with a fee. */
export function findConversions(chain: KeeperChain, minPayment: bigint): TaskFinder {
  const converter = { address: contractOn(chain, "agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  const taken = chain.events.track(
    { ...converter, eventName: "FeeTaken" },
    {
      keys: ({ agent, feeToken }) => [`${agent}:${feeToken}`],
      value: ({ agent, feeToken }) => ({ agent, feeToken }),
    },
  );

  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const converted: string[] = [];
    const open = [...taken.open()];
    const contracts = open.map(
      ([, { agent, feeToken }]) => ({ ...converter, functionName: "pending", args: [agent, feeToken] }) as const,
    );
    const pending = await chain.reader.multicall({ ...inBatches, contracts });
    for (const [index, [key, { agent, feeToken }]] of open.entries()) {
      if (pending[index] === 0n) {
        converted.push(key);
        continue;
      }
      const call = { ...converter, functionName: "convert", args: [agent, feeToken] };
      const notDue = ["NothingToConvert", "NotListed", ...MARKET_NOT_DUE];
      tasks.push({ name: "convert", chain, call, atLeast: minPayment, notDue });
    }
    taken.done(converted);
    return { tasks };
  }
  return { chain, find };
}

/** Buys the staking-derived token with the dollars of agents' treasuries. Anyone can send dollars to one. */
export function findPurchases(primary: KeeperChain, minPayment: bigint): TaskFinder {
  const registry = { address: contractOn(primary, "agentRegistry"), abi: agentRegistryAbi } as const;
  const created = primary.events.track(
    { ...registry, eventName: "AgentCreated" },
    { keys: ({ treasury }) => [treasury], value: ({ treasury }) => treasury },
  );

  async function find(): Promise<Found> {
    const treasuries = [...created.open().values()].filter((treasury) => treasury !== zeroAddress);
    const [first] = treasuries;
    if (first === undefined) return { tasks: [] };
    const treasury = { address: first, abi: agentTreasuryAbi } as const;
    // The registry makes every treasury with the same dollar.
    const address = await primary.reader.readContract({ ...treasury, functionName: "STABLECOIN" });
    const stablecoin = { address, abi: erc20Abi } as const;
    const decimals = await primary.reader.readContract({ ...stablecoin, functionName: "decimals" });
    const contracts = treasuries.map((each) => ({ ...stablecoin, functionName: "balanceOf", args: [each] }) as const);
    const balances = await primary.reader.multicall({ ...inBatches, contracts });
    const enough = minPayment * stablecoinUnits(decimals);
    const tasks = treasuries
      .filter((_, index) => (balances[index] ?? 0n) >= enough)
      .map((each): Task => {
        const call = { address: each, abi: agentTreasuryAbi, functionName: "buy", args: [] };
        return { name: "buy", chain: primary, call, notDue: ["NothingToEnter", "NotListed", ...MARKET_NOT_DUE] };
      });
    return { tasks };
  }
  return { chain: primary, find };
}
