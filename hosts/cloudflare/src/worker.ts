import { AsyncLocalStorage } from "node:async_hooks";
import type { ExecutionContext } from "@cloudflare/workers-types";
import { createChainReader } from "@inference/chain/reader";
import { createChainClient } from "@inference/chain/rpc";
import { limits } from "@inference/gateway/config";
import type { Environment } from "@inference/gateway/environment";
import { type Gateway, makeGateway } from "@inference/gateway/gateway";
import { type App, makeApp } from "@inference/gateway/http/app";
import { configOf, gatewaySettings, parseSettings } from "@inference/gateway/settings";
import type { Bindings } from "./bindings.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { upstream } from "./upstream.ts";

export { PartitionObject } from "./partition-object.ts";

/** After its client has gone, a Worker has 30 s in all; a little less is left for settling. */
const DRAIN_MS = 22_000;

/** The event that the code at hand belongs to: work in the background must be told to it. */
const currentEvent = new AsyncLocalStorage<ExecutionContext>();

type Running = { gateway: Gateway; app: App };
let running: Running | undefined;

export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    running ??= start(bindings);
    const { gateway, app } = running;
    return currentEvent.run(event, async () => {
      await refreshPrices(gateway);
      return app.fetch(request);
    });
  },
};

function start(bindings: Bindings): Running {
  const settings = parseSettings(gatewaySettings, bindings as Record<string, string | undefined>);
  const client = createChainClient({
    url: settings.PRIMARY_RPC_URL,
    fetch: fetch.bind(globalThis),
    random: Math.random,
  });
  const environment: Environment = {
    clock: { now: Date.now },
    random: { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
    ledger: makeEdgeLedger(bindings),
    keyValue: {
      get: (key) => bindings.KEY_VALUE.get(key),
      async put(key, value, options) {
        const expiresAt = options?.expiresAt;
        await bindings.KEY_VALUE.put(
          key,
          value,
          expiresAt === undefined ? {} : { expiration: Math.ceil(expiresAt / 1000) },
        );
      },
      delete: (key) => bindings.KEY_VALUE.delete(key),
    },
    chain: createChainReader({
      clients: new Map([[settings.PRIMARY_CHAIN_ID, client]]),
      primaryChainId: settings.PRIMARY_CHAIN_ID,
      pool: settings.POOL_ADDRESS,
      registry: settings.REGISTRY_ADDRESS,
      // Nothing watches the chain from here yet: credits come with the next host's jobs.
      watcher: {
        pendingActivations: () => [],
        status: () => ({ state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null }),
      },
    }),
    upstream,
    log: (level, event, fields = {}) => console.log(JSON.stringify({ level, event, ...fields })),
    background: (work) => currentEvent.getStore()?.waitUntil(work),
    timers: {
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return { cancel: () => clearTimeout(timer) };
      },
    },
  };
  const gateway = makeGateway(
    configOf(settings, { drainMs: DRAIN_MS, pricesFile: settings.PRICES_FILE ?? null }),
    environment,
  );
  return { gateway, app: makeApp(gateway) };
}

let pricesAt = 0;

/** A Worker has no timers of its own: a request that finds old prices reads them again. */
async function refreshPrices(gateway: Gateway): Promise<void> {
  if (Date.now() - pricesAt < limits.catalogueRefreshMs) return;
  await gateway.prices.refresh();
  pricesAt = Date.now();
}
