import { createDollarFollower, type DollarFollower } from "@inference/chain/dollar-follower";
import { keepPolling } from "@inference/chain/polling";
import type { ChainClient } from "@inference/chain/rpc";
import type { KeyValueStore } from "@inference/gateway/environment";
import { followedOf } from "@inference/gateway/settings";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** What follows the dollars of the secondary chains; undefined without a node of any. */
export function openDollarFollower(
  settings: NodeSettings,
  { keyValue, clientOf }: { keyValue: KeyValueStore; clientOf: (rpcUrl: string) => ChainClient },
): DollarFollower | undefined {
  const followed = followedOf(settings);
  if (followed === null) return undefined;
  return createDollarFollower({
    ...{ followed, clientOf, now: Date.now },
    confirmations: settings.CONFIRMATIONS,
    store: {
      load: () => keyValue.get(STORED_AS),
      save: (text) => keyValue.put(STORED_AS, text),
    },
    onAlert: (message) => log("alert", "dollars", { message }),
  });
}

/** Polls for as long as the gateway runs. The result stops it, and resolves when the poll that was running is over. */
export function keepFollowing(follower: DollarFollower, { CHAIN_POLL_MS }: NodeSettings): () => Promise<void> {
  const poll = async () => {
    await follower.poll();
    return { outcome: "idle" } as const;
  };
  // Each poll asks every chain, and only people wait for what it finds.
  return keepPolling({ watcher: { poll }, timers, intervalMs: 5 * CHAIN_POLL_MS });
}

const STORED_AS = "dollars";
