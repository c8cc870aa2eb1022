import type { ActivationWatcher, WatcherStatus } from "@inference/chain/activation-watcher";
import { createPending } from "@inference/chain/pending";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import type { Bindings } from "./bindings.ts";
import { log } from "./log.ts";
import { timers } from "./timers.ts";

/** How far the chain was read, and what is on it and not final. */
export type ChainLook = { status: WatcherStatus; pending: readonly Activation[] };

/** The chain's object as it is called. */
export type ChainCalls = { look(): Promise<ChainLook> };

/** What the chain's object saw, as it was told here last: for display, and to keep the object going. */
export type FollowedChain = Pick<ActivationWatcher, "status" | "pendingActivations"> & {
  /** Asks the object again, unless that was less than so long ago. Never throws: what was known stays. */
  look(afterMs: number): Promise<void>;
};

export function followChain({ CHAIN }: Bindings, chainId: number): FollowedChain {
  const pending = createPending();
  let status: WatcherStatus = { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null };
  let lookedAt = Number.NEGATIVE_INFINITY;
  return {
    async look(afterMs) {
      if (Date.now() - lookedAt < afterMs) return;
      lookedAt = Date.now();
      try {
        const object = CHAIN.get(CHAIN.idFromName(chainPartition(chainId))) as unknown as ChainCalls;
        const seen = await object.look();
        status = seen.status;
        pending.replace(seen.pending);
      } catch (error) {
        log("warn", "chain_look_failed", { error: String(error) });
      }
    },
    status: () => status,
    pendingActivations: pending.of,
  };
}

export function chainClientOf(url: string): ChainClient {
  return createChainClient({ url, fetch: fetch.bind(globalThis), random: Math.random, timers });
}
