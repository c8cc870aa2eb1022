import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { type Address, createPublicClient, http } from "viem";
import { oneLine } from "./devnet-error.ts";

/**
 * The adapter between the pool and a provider, which every gateway that sells agents' capacity needs
 * (docs/provider-staking.md). On each UTC day the allowance of the provider's account covers the capacity of the pool's
 * identities.
 */
export type ProviderStaking = {
  /** The account's allowance of today becomes this much, and stays so until the next call. In nano-USD. */
  stake(allowanceNanoUsd: bigint): Promise<void>;
};

export type FollowOptions = {
  rpcUrl: string;
  pool: Address;
  /** The first block that is read for stakes. */
  startBlock: number;
  staking: ProviderStaking;
  now(): number;
  onError(message: string): void;
};

/** Stakes count from the next UTC day on. */
const POLL_MS = 10_000;
const DAY_MS = 86_400_000;

/** Keeps the allowance at what the pool's stakes give today. */
export function followPool(options: FollowOptions): { sync(): Promise<void>; stop(): void } {
  const { rpcUrl, pool: address, startBlock, staking, now, onError } = options;
  const reader = createPublicClient({ transport: http(rpcUrl) });
  const pool = { address, abi: inferencePoolAbi } as const;
  let told: bigint | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  /** The sum over all identities: a unit serves one of them a day. */
  async function allowanceToday(): Promise<bigint> {
    const entered = await reader.getContractEvents({ ...pool, eventName: "Entered", fromBlock: BigInt(startBlock) });
    const identities = new Set(entered.flatMap(({ args }) => args.identity ?? []));
    const day = BigInt(Math.floor(now() / DAY_MS));
    const capacities = await Promise.all(
      [...identities].map((identity) =>
        reader.readContract({ ...pool, functionName: "capacityOn", args: [identity, day] }),
      ),
    );
    return capacities.reduce((sum, capacity) => sum + capacity, 0n);
  }
  async function sync(): Promise<void> {
    const allowance = await allowanceToday();
    if (allowance === told) return;
    await staking.stake(allowance);
    told = allowance;
  }
  async function poll(): Promise<void> {
    await sync().catch((error: unknown) => {
      if (!stopped) onError(`The pool's stake cannot be told to the provider: ${oneLine(error)}`);
    });
    if (!stopped) timer = setTimeout(() => void poll(), POLL_MS);
  }
  void poll();
  return {
    sync,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
