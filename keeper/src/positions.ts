import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { agentFeeLockerAbi } from "@inference/protocol/abi/agent-fee-locker";
import { stablecoinUnits } from "@inference/protocol/money";
import { type Address, erc20Abi, maxUint128, parseAbi, zeroAddress } from "viem";
import { contractOn, type KeeperChain } from "./keeper-chain.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** Of Uniswap v3. */
const positionManagerAbi = parseAbi([
  "struct Collection { uint256 tokenId; address recipient; uint128 amount0Max; uint128 amount1Max; }",
  "function collect(Collection params) payable returns (uint256 amount0, uint256 amount1)",
  "function positions(uint256 tokenId) view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 growth0, uint256 growth1, uint128 owed0, uint128 owed1)",
]);
const poolAbi = parseAbi([
  "function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 index, uint16 count, uint16 next, uint8 protocol, bool unlocked)",
]);

/**
 * Collects the fees of agents' locked positions. Fees in the stablecoin and in listed tokens, at the price of their
 * market, must be worth `minPayment` together: anyone can lock a position.
 */
export function findCollections(chain: KeeperChain, minPayment: bigint): TaskFinder {
  const { reader } = chain;
  const locker = { address: contractOn(chain, "agentFeeLocker"), abi: agentFeeLockerAbi } as const;
  const converter = { address: contractOn(chain, "agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  const stablecoin = contractOn(chain, "stablecoin");
  const locked = chain.events.track(
    { ...locker, eventName: "Locked" },
    { keys: ({ positionId }) => [String(positionId)], value: ({ positionId }) => String(positionId) },
  );

  /** In stablecoin units; 0 for a token without a market. */
  async function dollarsOf(token: Address, amount: bigint): Promise<bigint> {
    if (amount === 0n || token.toLowerCase() === stablecoin.toLowerCase()) return amount;
    const { pool } = await reader.readContract({ ...converter, functionName: "marketOf", args: [token] });
    if (pool === zeroAddress) return 0n;
    const [root] = await reader.readContract({ address: pool, abi: poolAbi, functionName: "slot0" });
    const isFirst = BigInt(token) < BigInt(stablecoin);
    return isFirst ? (amount * root * root) >> 192n : (amount << 192n) / (root * root);
  }
  async function feesOf(id: bigint, address: Address): Promise<bigint> {
    const manager = { address, abi: positionManagerAbi } as const;
    const [, , token0, token1] = await reader.readContract({ ...manager, functionName: "positions", args: [id] });
    const collection = { tokenId: id, recipient: locker.address, amount0Max: maxUint128, amount1Max: maxUint128 };
    const { result } = await reader.simulateContract({
      ...{ ...manager, functionName: "collect", args: [collection], account: locker.address },
    });
    return (await dollarsOf(token0, result[0])) + (await dollarsOf(token1, result[1]));
  }
  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const ids = [...locked.open().values()].map(BigInt);
    if (ids.length === 0) return { tasks };
    const [decimals, manager] = await Promise.all([
      reader.readContract({ address: stablecoin, abi: erc20Abi, functionName: "decimals" }),
      reader.readContract({ ...locker, functionName: "POSITIONS" }),
    ]);
    const enough = minPayment * stablecoinUnits(decimals);
    for (const id of ids) {
      // A position whose tokens fail must not hold up the others.
      if ((await feesOf(id, manager).catch(() => 0n)) < enough) continue;
      const call = { ...locker, functionName: "collect", args: [id] };
      tasks.push({ name: "collect", chain, call, notDue: [] });
    }
    return { tasks };
  }
  return { chain, find };
}
