import type { ActivationWatcher, WatcherStatus } from "@inference/chain/activation-watcher";
import { createPending } from "@inference/chain/pending";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import type { DollarView } from "@inference/protocol/dollars";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import type { Bindings } from "./bindings.ts";
import { log } from "./log.ts";
import { timers } from "./timers.ts";

/** How far the chain was read, its activations that are not final, the dollars of secondary chains, and the settler. */
export type ChainLook = {
  status: WatcherStatus;
  pending: readonly Activation[];
  /** Where the dollars of the secondary chains are; null if that is not known, or absent from an older version. */
  dollars?: DollarView | null;
  /** Null without a key, absent from an older version. */
  settler?: SettlerStatus | null;
};

/** The calls of the chain's object. */
export type ChainCalls = { look(): Promise<ChainLook> };

/** The last known state of the chain's object. Used for display. Asking for it also keeps the object running. */
export type FollowedChain = Pick<ActivationWatcher, "status" | "pendingActivations"> & {
  /** Asks the object, unless it was asked less than `afterMs` ago. Never throws: after an error the last state stays. */
  look(afterMs: number): Promise<void>;
  dollars(): DollarView | null;
  /** Undefined until the object has told, and without a key. */
  settler(): SettlerStatus | undefined;
};

export function followChain({ CHAIN }: Bindings, chainId: number): FollowedChain {
  const pending = createPending();
  let status: WatcherStatus = { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null };
  let dollars: DollarView | null = null;
  let settler: SettlerStatus | undefined;
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
        dollars = seen.dollars ?? null;
        settler = seen.settler ?? undefined;
      } catch (error) {
        log("warn", "chain_look_failed", { error: String(error) });
      }
    },
    status: () => status,
    dollars: () => dollars,
    settler: () => settler,
    pendingActivations: pending.of,
  };
}

export function chainClientOf(url: string): ChainClient {
  return createChainClient({ url, fetch: fetch.bind(globalThis), random: Math.random, timers });
}
