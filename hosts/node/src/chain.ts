import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import { startContradiction } from "@inference/chain/start-check";
import { followedOf, SettingsError } from "@inference/gateway/settings";
import { type MoneyHost, type MoneyPath, openMoneyPath } from "@inference/settler/money-path";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** Throws `SettingsError` if the primary chain contradicts the settings. */
export async function openChain(
  settings: NodeSettings,
  host: Pick<MoneyHost, "ledger" | "keccak" | "now" | "billing" | "dollarStore">,
): Promise<MoneyPath> {
  const path = openMoneyPath(settings, {
    ...host,
    clientOf: chainClientOf,
    // The file may have been put back before the start.
    mayBeCopy: true,
    followed: followedOf(settings),
    onAlert: (event, message) => log("alert", event, { message }),
  });
  const contradiction = await startContradiction(chainClientOf(settings.PRIMARY_RPC_URL, 1), path.identity);
  if (contradiction !== undefined) throw new SettingsError(`The gateway cannot start. ${contradiction}.`);
  return path;
}

export function chainClientOf(url: string, tries = 3): ChainClient {
  return createChainClient({ url, fetch, random: Math.random, timers, tries });
}
