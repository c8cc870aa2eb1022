import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { standingOrdersAbi } from "@inference/protocol/abi/standing-orders";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { DAY_MS, dayNumber } from "@inference/protocol/window";
import { type Address, erc20Abi, isAddressEqual } from "viem";
import type { Budget } from "./budget.ts";
import { contractOn, hasContract, inBatches, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";
import type { StandingOrderSettings } from "./settings.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** Maximum orders of a chain that a round looks at, in turn: anyone can set orders. */
const MOST_LOOKED = 200;
/** Maximum pulls of a round, each of which waits for its block: flushes and deliveries wait for the next round. */
const MOST_PULLED = 10;
/**
 * The pause after a try to pull an owner's dollars, in ms: a node may show the credit late, and an owner whom the
 * stablecoin blocks is not asked about in each round. A reverted pull ends the owner's UTC day.
 */
const REST_MS = 600_000;
/** How long a message from a secondary chain counts as credit, in seconds. */
const DAY_S = 86_400n;

const NOT_DUE = ["OnlyPuller", "Expired", "AboveDayMaximum"];

type Order = { owner: Address; puller: Address; maxPerDay: string; expiresAt: string };
type Pull = { owner: Address; amount: bigint };

/**
 * Pulls the dollars of owners whose credit on chain is below a threshold, by the orders that name this keeper. The
 * credit falls when statements are posted, so it is never below the balance at the gateway. Pulls that are on their way
 * from a secondary chain count as credit, so a shortage is filled once. If a chain cannot be read, nothing is pulled.
 */
export function findPulls(
  chains: readonly [primary: KeeperChain, ...secondaries: KeeperChain[]],
  { below, least, budget, now }: StandingOrderSettings & { budget: Budget; now(): number },
): TaskFinder {
  const [primary, ...secondaries] = chains;
  const settlement = { address: contractOn(primary, "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const underWay = followPulls(primary, secondaries.filter(hasOrders));
  const readers = chains.filter(hasOrders).map((chain) => ({ chain, read: pullsOn(chain, least) }));
  const restsUntil = new Map<Address, number>();

  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const coming = await underWay();
    for (const [owner, until] of restsUntil) if (until <= now()) restsUntil.delete(owner);
    for (const { chain, read } of readers) {
      const pulls = (await read()).filter(({ owner }) => !restsUntil.has(owner));
      if (pulls.length === 0) continue;
      const contracts = pulls.map(
        ({ owner }) => ({ ...settlement, functionName: "creditNanoUsd", args: [owner] }) as const,
      );
      const credits = await primary.reader.multicall({ ...inBatches, contracts });
      for (const [index, { owner, amount }] of pulls.entries()) {
        const comingToken = coming.get(owner) ?? 0n;
        if ((credits[index] ?? 0n) + comingToken * NANO_USD_PER_TOKEN_UNIT >= below * NANO_USD_PER_TOKEN_UNIT) continue;
        if (tasks.length === MOST_PULLED) break;
        coming.set(owner, comingToken + amount);
        tasks.push(pull(chain, { owner, amount }));
      }
    }
    return { tasks };
  }
  function pull(chain: KeeperChain, { owner, amount }: Pull): Task {
    const orders = ordersOn(chain);
    const fee = { address: contractOn(chain, "tokenBridge"), abi: tokenBridgeAbi, functionName: "quote" } as const;
    return {
      ...{ name: "pull", chain, budget, notDue: NOT_DUE },
      call: { ...orders, functionName: "pull", args: [owner, amount] },
      valueWei: async () =>
        chain === primary ? 0n : chain.reader.readContract({ ...fee, args: [primary.settings.eid] }),
      onTried: (outcome) => {
        const until = outcome === "reverted" ? (dayNumber(now()) + 1) * DAY_MS : now() + REST_MS;
        restsUntil.set(owner, until);
      },
    };
  }
  return { chain: primary, find };
}

/** A reader of the pulls that are possible on a chain, whether due or not. */
function pullsOn(chain: KeeperChain, least: bigint): () => Promise<Pull[]> {
  const { reader, writer } = chain;
  const orders = ordersOn(chain);
  const stablecoin = { address: contractOn(chain, "stablecoin"), abi: erc20Abi } as const;
  const set = chain.events.track(
    { ...orders, eventName: "OrderSet" },
    {
      keys: ({ owner }) => [owner],
      value: ({ owner, puller, maxPerDay, expiresAt }): Order => {
        return { owner, puller, maxPerDay: String(maxPerDay), expiresAt: String(expiresAt) };
      },
    },
  );
  let first = 0;

  /** The next orders of this keeper, in turn. */
  async function next(): Promise<Address[]> {
    const time = await timeOn(chain);
    const all = [...set.open()];
    const isOpen = ([, { puller, expiresAt }]: (typeof all)[number]): boolean =>
      isAddressEqual(puller, writer.account.address) && time < BigInt(expiresAt);
    set.done(all.filter((each) => !isOpen(each)).map(([key]) => key));
    const large = all.filter((each) => isOpen(each) && BigInt(each[1].maxPerDay) >= least);
    if (first >= large.length) first = 0;
    const turn = large.slice(first, first + MOST_LOOKED);
    first += MOST_LOOKED;
    return turn.map(([, { owner }]) => owner);
  }
  return async () => {
    const owners = await next();
    if (owners.length === 0) return [];
    const scale = await reader.readContract({ ...orders, functionName: "SCALE" });
    const of = <C extends object>(make: (owner: Address) => C): C[] => owners.map(make);
    const [left, allowed, dollars] = await Promise.all([
      reader.multicall({
        ...inBatches,
        contracts: of((owner) => ({ ...orders, functionName: "leftToday", args: [owner] }) as const),
      }),
      reader.multicall({
        ...inBatches,
        contracts: of(
          (owner) => ({ ...stablecoin, functionName: "allowance", args: [owner, orders.address] }) as const,
        ),
      }),
      reader.multicall({
        ...inBatches,
        contracts: of((owner) => ({ ...stablecoin, functionName: "balanceOf", args: [owner] }) as const),
      }),
    ]);
    return owners
      .map((owner, index): Pull => {
        const payable = min(allowed[index] ?? 0n, dollars[index] ?? 0n) / scale;
        return { owner, amount: min(left[index] ?? 0n, payable) };
      })
      .filter(({ amount }) => amount >= least);
  };
}

/**
 * Follows pulls from secondary chains to the primary one. Gives each owner's amount that is on its way. A message
 * counts for a day: it may wait for cover, or be discarded.
 */
function followPulls(primary: KeeperChain, secondaries: readonly KeeperChain[]): () => Promise<Map<Address, bigint>> {
  if (secondaries.length === 0) return async () => new Map();
  const pullers = secondaries.map((chain) => contractOn(chain, "standingOrders"));
  const isPull = ({ from }: { from: Address }): boolean => pullers.some((each) => isAddressEqual(each, from));
  const bridgeOn = (chain: KeeperChain) =>
    ({ address: contractOn(chain, "tokenBridge"), abi: tokenBridgeAbi }) as const;
  const senders = secondaries.map((chain) => ({
    chain,
    timeOf: timesOn(chain),
    messages: chain.events.track(
      { ...bridgeOn(chain), eventName: "Sent" },
      {
        keys: ({ guid, message }) => (isPull(message) ? [guid] : []),
        value: ({ message }, block) => ({ owner: message.to, amount: String(message.amount), block }),
      },
    ),
  }));
  const delivered = primary.events.track(
    { ...bridgeOn(primary), eventName: "Delivered" },
    { keys: ({ guid, message }) => (isPull(message) ? [guid] : []), value: ({ guid }) => guid },
  );
  return async () => {
    const ended = new Set(delivered.open().keys());
    const coming = new Map<Address, bigint>();
    const known = new Set<string>();
    for (const { chain, messages, timeOf } of senders) {
      const over: string[] = [];
      const open = messages.open();
      const since = open.size === 0 ? 0n : (await timeOn(chain)) - DAY_S;
      for (const [guid, { owner, amount, block }] of open) {
        known.add(guid);
        if (ended.has(guid) || (await timeOf(block)) < since) over.push(guid);
        else coming.set(owner, (coming.get(owner) ?? 0n) + BigInt(amount));
      }
      messages.done(over);
    }
    // A delivery is forgotten after its message.
    delivered.done([...ended].filter((guid) => !known.has(guid)));
    return coming;
  };
}

/** The time of a block in seconds, read once. */
function timesOn(chain: KeeperChain): (block: number) => Promise<bigint> {
  const times = new Map<number, bigint>();
  return async (block) => {
    const time = times.get(block) ?? (await timeOfBlock(chain, block));
    if (times.size >= MOST_LOOKED) times.clear();
    times.set(block, time);
    return time;
  };
}

function hasOrders(chain: KeeperChain): boolean {
  return hasContract(chain, "standingOrders");
}

function ordersOn(chain: KeeperChain) {
  return { address: contractOn(chain, "standingOrders"), abi: standingOrdersAbi } as const;
}

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
