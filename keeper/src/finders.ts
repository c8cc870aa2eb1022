import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { agentFeeLockerAbi } from "@inference/protocol/abi/agent-fee-locker";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTreasuryAbi } from "@inference/protocol/abi/agent-treasury";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { decodeChunk } from "@inference/protocol/chunk";
import { NANO_USD_PER_TOKEN_UNIT, stablecoinUnits } from "@inference/protocol/money";
import { type Address, erc20Abi, hexToBytes, maxUint128, parseAbi, zeroAddress, zeroHash } from "viem";
import { contractOn, inBatches, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** How long a message may wait for its cover, in seconds. */
const WAITING_LATE = 3_600n;

/** Messages that arrived without cover: delivers them when they have it. */
export function findDeliveries(chain: KeeperChain): TaskFinder {
  const bridge = { address: contractOn(chain, "tokenBridge"), abi: tokenBridgeAbi } as const;
  const arrivals = chain.events.track(
    { ...bridge, eventName: "Waiting" },
    {
      keys: ({ guid }) => [guid],
      value: ({ guid, srcEid, message }, block) => {
        return { guid, srcEid, message: { ...message, amount: String(message.amount) }, block };
      },
    },
  );

  async function find(): Promise<Found> {
    const found: Found = { tasks: [], delays: [] };
    const open = [...arrivals.open().values()];
    const contracts = open.map(({ guid }) => ({ ...bridge, functionName: "waiting", args: [guid] }) as const);
    const digests = await chain.reader.multicall({ ...inBatches, contracts });
    const isWaiting = (_: unknown, index: number): boolean => digests[index] !== zeroHash;
    arrivals.done(open.filter((_, index) => !isWaiting(_, index)).map(({ guid }) => guid));
    for (const { guid, srcEid, message, block } of open.filter(isWaiting)) {
      const args = [guid, srcEid, { ...message, amount: BigInt(message.amount) }];
      const call = { ...bridge, functionName: "deliver", args };
      found.tasks.push({ name: "deliver", chain, call, notDue: ["NotCovered", "NotNext", "NotWaiting", "Paused"] });
      const ageSeconds = (await timeOn(chain)) - (await timeOfBlock(chain, block));
      if (ageSeconds > WAITING_LATE) found.delays.push({ what: "waiting", chain: chain.settings.name, ageSeconds });
    }
    return found;
  }
  return { chain, find };
}

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
    if (ids.length === 0) return { tasks, delays: [] };
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
    return { tasks, delays: [] };
  }
  return { chain, find };
}

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
    return { tasks, delays: [] };
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
    if (first === undefined) return { tasks: [], delays: [] };
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
    return { tasks, delays: [] };
  }
  return { chain: primary, find };
}

/** Somebody else has made the payment. Other errors, such as a blocked payee, alert the operator. */
const NOT_DUE = ["NothingOwed"];

/** Pays the settlement's debts to the provider's payee, to agents' Safes and treasuries, and back to accounts. */
export function findPayments(primary: KeeperChain, minPayment: bigint): TaskFinder {
  const settlement = { address: contractOn(primary, "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  // The keys are the agents of a chunk and the accounts that they served.
  const payees = primary.events.track(
    { ...settlement, eventName: "Settled" },
    {
      keys: ({ data }) => {
        const served = decodeChunk(hexToBytes(data)).filter(({ parts }) => parts.length > 0);
        const agents = served.flatMap(({ parts }) => parts.map(({ agent }) => `agent:${agent}`));
        return new Set([...agents, ...served.map(({ account }) => `account:${account}`)]);
      },
      value: (_args, _block, key) => key,
    },
  );
  const isEnough = (owedNanoUsd: bigint): boolean => owedNanoUsd >= minPayment * NANO_USD_PER_TOKEN_UNIT;
  const task = (functionName: string, args: readonly unknown[]): Task => {
    return { name: functionName, chain: primary, call: { ...settlement, functionName, args }, notDue: NOT_DUE };
  };

  async function agentTasks(agents: readonly Address[], tasks: Task[]): Promise<string[]> {
    const contracts = agents.map(
      (agent) => ({ ...settlement, functionName: "owedAgentNanoUsd", args: [agent] }) as const,
    );
    const owed = await primary.reader.multicall({ ...inBatches, contracts });
    const paid: string[] = [];
    for (const [index, agent] of agents.entries()) {
      const [safe = 0n, treasury = 0n] = owed[index] ?? [];
      if (isEnough(safe)) tasks.push(task("paySafe", [agent]));
      if (isEnough(treasury)) tasks.push(task("payTreasury", [agent]));
      // Less than a token unit stays owed until the agent serves again.
      if (safe < NANO_USD_PER_TOKEN_UNIT && treasury < NANO_USD_PER_TOKEN_UNIT) paid.push(`agent:${agent}`);
    }
    return paid;
  }
  async function accountTasks(accounts: readonly Address[], tasks: Task[]): Promise<string[]> {
    const contracts = accounts.map(
      (account) => ({ ...settlement, functionName: "owedBackNanoUsd", args: [account] }) as const,
    );
    const owed = await primary.reader.multicall({ ...inBatches, contracts });
    const paid: string[] = [];
    for (const [index, account] of accounts.entries()) {
      const back = owed[index] ?? 0n;
      if (isEnough(back)) tasks.push(task("payBack", [account]));
      if (back < NANO_USD_PER_TOKEN_UNIT) paid.push(`account:${account}`);
    }
    return paid;
  }
  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const provider = await primary.reader.readContract({ ...settlement, functionName: "owedProviderNanoUsd" });
    if (isEnough(provider)) tasks.push(task("payProvider", []));
    const open = [...payees.open().values()];
    const named = (kind: string): Address[] =>
      open.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length) as Address);
    payees.done([...(await agentTasks(named("agent:"), tasks)), ...(await accountTasks(named("account:"), tasks))]);
    return { tasks, delays: [] };
  }
  return { chain: primary, find };
}
