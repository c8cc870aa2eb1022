import { createChainReader } from "@inference/chain/reader";
import { makeApp } from "@inference/gateway/app";
import { revokeAllAgain } from "@inference/gateway/auth/revocations";
import { limits } from "@inference/gateway/config";
import type { Environment } from "@inference/gateway/environment";
import { makeGateway } from "@inference/gateway/gateway";
import { type JobTimes, startJobs } from "@inference/gateway/jobs/jobs";
import { makeProviderBilling } from "@inference/gateway/operator/provider-billing";
import { configOf } from "@inference/gateway/settings";
import { makeProvider } from "@inference/gateway/upstream/provider";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { makeBackground } from "./background.ts";
import { openBodyThread } from "./body-thread.ts";
import { openChain } from "./chain.ts";
import { makeSteadyClock } from "./clock.ts";
import { readDashboard } from "./dashboard.ts";
import { fileOf, openDatabase } from "./database.ts";
import { gzip } from "./gzip.ts";
import { openKeyValue } from "./key-value.ts";
import { openNodeLedger } from "./ledger.ts";
import { listedOnDays } from "./listed-costs.ts";
import { listen } from "./listen.ts";
import { log } from "./log.ts";
import { openStatements, startPolling } from "./polling.ts";
import { openProcessMetrics } from "./process-metrics.ts";
import { randomBytes } from "./random.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";
import { openTracing } from "./tracing.ts";
import { openUpstream } from "./upstream.ts";
import { openWebhooks } from "./webhooks.ts";

export type NodeGatewayOptions = {
  /** The text of a price file. */
  pricesFile: string | null;
  jobs?: Partial<JobTimes>;
  /** Called before and after every commit, with the number of its rows. */
  onCommit?: (stage: "before" | "after", rows: number) => void;
};

export type NodeGateway = {
  url: string;
  /** Accepts no more requests, finishes those in flight, and closes the file. */
  stop(): Promise<void>;
};

const HELD_BODY_BYTES = 256 * 1024 * 1024;
/** The memory for answers on their way to their clients. */
const HELD_ANSWER_BYTES = 128 * 1024 * 1024;

/** Puts the gateway together on one machine and starts it. */
export async function startNodeGateway(settings: NodeSettings, options: NodeGatewayOptions): Promise<NodeGateway> {
  const config = configOf(settings, {
    mostDrainMs: limits.requestMs,
    bodyMemoryBytes: HELD_BODY_BYTES,
    answerMemoryBytes: HELD_ANSWER_BYTES,
    pricesFile: options.pricesFile,
  });
  const clock = { now: Date.now };
  const steadyNow = makeSteadyClock({
    wall: Date.now,
    monotonic: () => performance.now(),
    onJump: (ms) => log("alert", "clock_jumped", { ms }),
  });
  const database = openDatabase(fileOf(settings.DATABASE_FILE), settings.DATABASE_SYNCHRONOUS);
  const keyValue = openKeyValue(`${settings.DATABASE_FILE}-kv`, clock.now);
  const ledger = openNodeLedger(database, {
    now: steadyNow,
    epoch: clock.now(),
    onAlert: (message) => log("alert", "ledger", { message }),
    onFatal(error) {
      log("alert", "ledger_stopped", { error: String(error) });
      // Requests that waited for this commit are answered first.
      setTimeout(() => process.exit(1), LAST_ANSWERS_MS);
    },
    ...(options.onCommit === undefined ? {} : { onCommit: options.onCommit }),
  });
  const keccak = await makeKeccak();
  const upstream = openUpstream(config.upstream.baseUrl);
  const provider = makeProvider(config.upstream, upstream);
  const listedOn = listedOnDays(database, { ledger, now: steadyNow, receiptMs: config.operator.receiptMs });
  const stopping = new AbortController();
  const billing = makeProviderBilling(config.upstream.billing, {
    ...{ log, timers, provider, listedOn, listsAll: true, stopped: stopping.signal },
  });
  const dollarStore = { load: () => keyValue.get(DOLLARS), save: (text: string) => keyValue.put(DOLLARS, text) };
  const money = await openChain(settings, { ledger, keccak, now: steadyNow, billing, dollarStore });
  const { client, watcher, settler, dollars } = money;
  // Until the watcher has asked the chain, nobody knows whether the file is an older copy.
  await ledger.run(() => send(chainPartition(settings.PRIMARY_CHAIN_ID), { type: "waitFor", readyFrom: null }));
  const first = await watcher.poll();
  if (first.outcome === "waiting") log("warn", "chain_not_read", { reason: first.reason });
  const webhooks = openWebhooks({ local: config.operator.webhookTargets === "local" });
  const bodies = openBodyThread(config);
  const { OTEL_EXPORTER_OTLP_ENDPOINT: collector } = settings;
  const tracing = collector === undefined ? undefined : await openTracing(collector, config.upstream);
  const background = makeBackground();
  const dashboard = readDashboard(settings);
  const environment: Environment = {
    clock,
    random: { bytes: randomBytes },
    ledger,
    keyValue,
    chain: createChainReader({
      client,
      settlement: settings.SETTLEMENT_ADDRESS,
      contracts: settings,
      timers,
      watcher,
    }),
    ...(dollars === undefined ? {} : { dollars: dollars.view }),
    ...(settler === undefined ? {} : { settler: settler.status }),
    ...(dashboard === undefined ? {} : { dashboard }),
    gzip,
    upstream,
    webhooks,
    mcpSdk: () => import("@inference/gateway/mcp-sdk"),
    relay: fetch,
    readLargeBody: bodies.read,
    log,
    tracing,
    processMetrics:
      config.operator.metricsToken === null ? undefined : await openProcessMetrics(settings.DATABASE_FILE),
    background: background.add,
    timers,
  };
  const gateway = makeGateway(config, environment);
  await ledger.recover();
  await revokeAllAgain({ ledger, keyValue }, clock.now());
  const stopJobs = await startJobs(gateway, ledger.holds(), options.jobs);
  const statements = openStatements(settings, { ledger, terms: config.posting, keccak });
  const stopPolling = startPolling({ ...money, statements }, settings);
  const server = await listen(makeApp(gateway), settings);
  return {
    url: server.url,
    async stop() {
      stopping.abort();
      await server.close();
      await background.settled(STOP_MS);
      // Jobs make commits, so they end before the ledger.
      await stopJobs();
      await stopPolling();
      await bodies.stop();
      await upstream.close();
      await tracing?.close();
      await webhooks.close();
      await ledger.close();
      database.close();
      keyValue.close();
    },
  };
}

/** Where the key-value store has what was read of the secondary chains' dollars. */
const DOLLARS = "dollars";

/** How long a stop waits for work in the background. The sweeper of the next start ends the rest. */
const STOP_MS = 20_000;

/** How long the last answers may take once the ledger has stopped. */
const LAST_ANSWERS_MS = 250;
