import { createChainReader } from "@inference/chain/reader";
import dashboard from "@inference/dashboard/page.json" with { type: "json" };
import type { Environment } from "@inference/gateway/environment";
import { type Gateway, makeGateway } from "@inference/gateway/gateway";
import * as mcpSdk from "@inference/gateway/mcp-sdk";
import type { Bindings } from "./bindings.ts";
import { chainClientOf, type FollowedChain, followChain } from "./chain-look.ts";
import { countingLog } from "./counters.ts";
import { makeKeyValue } from "./key-value.ts";
import { log } from "./log.ts";
import { OBJECT_VERSION } from "./row-log.ts";
import { edgeConfigOf, settingsOf } from "./settings.ts";
import { timers } from "./timers.ts";
import { upstream } from "./upstream.ts";
import { webhooks } from "./webhooks.ts";

/** Puts the gateway together at the edge: in the Worker, and in each object for its jobs. */
export function openEdgeGateway(
  bindings: Bindings,
  host: Pick<Environment, "ledger" | "background">,
): { gateway: Gateway; chain: FollowedChain } {
  const settings = settingsOf(bindings);
  const config = edgeConfigOf(settings);
  const { COUNTERS: counters } = bindings;
  const counting = counters && countingLog(log, counters, config.operator.accessLog === "1");
  if (counting !== undefined) config.operator.accessLog = "1";
  const chain = followChain(bindings, settings.PRIMARY_CHAIN_ID);
  const environment: Environment = {
    ...host,
    clock: { now: Date.now },
    random: { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
    keyValue: makeKeyValue(bindings.KEY_VALUE),
    chain: createChainReader({
      client: chainClientOf(settings.PRIMARY_RPC_URL),
      settlement: settings.SETTLEMENT_ADDRESS,
      contracts: settings,
      timers,
      watcher: chain,
    }),
    dollars: chain.dollars,
    settler: chain.settler,
    rowVersion: OBJECT_VERSION,
    ...(dashboard === null ? {} : { dashboard }),
    upstream,
    webhooks,
    mcpSdk: async () => mcpSdk,
    relay: (url, init) => fetch(url, init),
    log: counting ?? log,
    timers,
  };
  return { gateway: makeGateway(config, environment), chain };
}
