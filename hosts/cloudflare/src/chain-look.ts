import { createPending } from "@inference/chain/pending";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import type { SettlementWatcher, WatcherStatus } from "@inference/chain/settlement-watcher";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import type { DollarView } from "@inference/protocol/dollars";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import { resultWithin } from "@inference/protocol/timers";
import { type Bindings, objectOf } from "./bindings.ts";
import { log } from "./log.ts";
import { timers } from "./timers.ts";

/** How far the chain was read, its activations that are not final, the dollars of secondary chains, and the settler. */
export type ChainLook = {
  status: WatcherStatus;
  pending: readonly Activation[];
  /** Where the dollars of the secondary chains are; null if that is not known. */
  dollars: DollarView | null;
  /** Null without a key. */
  settler: SettlerStatus | null;
};

/** The calls of the chain's object. */
export type ChainCalls = {
  look(): Promise<ChainLook>;
  /** Empties the chain's partition and begins to read the chain again. Throws if the chain cannot be read now. */
  reread(): Promise<void>;
};

/** The last known state of the chain's object. Used for display. Asking for it also keeps the object running. */
export type FollowedChain = Pick<SettlementWatcher, "status" | "pendingActivations"> & {
  /** Asks the object, unless it was asked less than `afterMs` ago. Never throws: after an error the last state stays. */
  look(afterMs: number): Promise<void>;
  /** Resolves when the object has answered once, or after a bounded time. Never throws. */
  known(): Promise<void>;
  dollars(): DollarView | null;
  /** Undefined until the object has told, and without a key. */
  settler(): SettlerStatus | undefined;
};

export function followChain(bindings: Bindings, chainId: number): FollowedChain {
  const pending = createPending();
  let status: WatcherStatus = { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null };
  let dollars: DollarView | null = null;
  let settler: SettlerStatus | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let first: Promise<void> | undefined;
  let isKnown = false;

  async function ask(): Promise<void> {
    try {
      const object = objectOf<ChainCalls>(bindings.CHAIN, chainPartition(chainId), bindings);
      const seen = await object.look();
      status = seen.status;
      pending.replace(seen.pending);
      dollars = seen.dollars;
      settler = seen.settler ?? undefined;
    } catch (error) {
      log("warn", "chain_look_failed", { error: String(error) });
    } finally {
      isKnown = true;
    }
  }

  return {
    async look(afterMs) {
      if (Date.now() - lookedAt < afterMs) return;
      lookedAt = Date.now();
      const asked = ask();
      first ??= asked;
      await asked;
    },
    async known() {
      if (isKnown || first === undefined) return;
      await resultWithin(timers, FIRST_LOOK_MS, first).catch(() => undefined);
    },
    status: () => status,
    dollars: () => dollars,
    settler: () => settler,
    pendingActivations: pending.of,
  };
}

/** How long the first requests of an isolate wait to learn whether the ledger is old. */
const FIRST_LOOK_MS = 2_000;

export function chainClientOf(url: string, tries = 3): ChainClient {
  return createChainClient({ url, fetch: fetch.bind(globalThis), random: Math.random, timers, tries });
}
