import { createDollarFollower, type DollarFollower } from "@inference/chain/dollar-follower";
import { keepPolling } from "@inference/chain/polling";
import type { ChainClient } from "@inference/chain/rpc";
import type { KeyValueStore } from "@inference/gateway/environment";
import type { FollowedChain, FollowedChains } from "@inference/gateway/followed-chains";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** What follows the dollars of the secondary chains. */
export function openDollarFollower(
  { primary, secondaries }: FollowedChains,
  {
    settings,
    keyValue,
    clientOf,
  }: { settings: NodeSettings; keyValue: KeyValueStore; clientOf: (url: string) => ChainClient },
): DollarFollower {
  const withClient = (chain: FollowedChain) => ({ ...chain, client: clientOf(chain.rpcUrl) });
  return createDollarFollower({
    primary: withClient(primary),
    secondaries: secondaries.map(withClient),
    confirmations: settings.CONFIRMATIONS,
    store: {
      load: () => keyValue.get(STORED_AS),
      save: (text) => keyValue.put(STORED_AS, text),
    },
    now: Date.now,
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
