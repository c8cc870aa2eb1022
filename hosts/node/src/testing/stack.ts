import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeApp } from "@inference/gateway/app";
import {
  defaultRequestLimits,
  type OperatorConfig,
  type RequestLimits,
  type UpstreamConfig,
} from "@inference/gateway/config";
import type { Environment, LogFields } from "@inference/gateway/environment";
import { type Gateway, makeGateway } from "@inference/gateway/gateway";
import { forgetAll } from "@inference/gateway/jobs/forget";
import { makeNotifier } from "@inference/gateway/jobs/notify";
import { openChain, type TestAccount } from "@inference/gateway/test/fund";
import { type HostOptions, type HostParts, type HostUnderTest, hostOf } from "@inference/gateway/test/host";
import { noLimits } from "@inference/gateway/test/no-limits";
import type { Tracing } from "@inference/gateway/tracing";
import { ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { tableSql } from "@inference/ledger/sql";
import type { Tables } from "@inference/ledger/tables";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { NanoUsd } from "@inference/protocol/money";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { makeBackground } from "../background.ts";
import { openBodyThread } from "../body-thread.ts";
import { readDashboard } from "../dashboard.ts";
import { openDatabase } from "../database.ts";
import { gzip } from "../gzip.ts";
import { openKeyValue } from "../key-value.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";
import { listen } from "../listen.ts";
import { timers } from "../timers.ts";
import { openUpstream } from "../upstream.ts";
import { openWebhooks } from "../webhooks.ts";

/**
 * The gateway over real HTTP, on a real file, in front of the provider simulator, in one process: everything but a
 * chain. Accounts are credited in the ledger directly.
 */
export type Stack = HostUnderTest & {
  [Symbol.asyncDispose](): Promise<void>;
  gateway: Gateway;
  ledger: NodeLedger;
  /** The master key at the provider: must appear in no byte that leaves. */
  canary: string;
  logged: { level: string; event: string; fields: LogFields }[];
  /** The gateway's file, to look into. */
  database: DatabaseSync;
};

export type { TestAccount };

export type StackOptions = HostOptions & {
  ceilingNanoUsd?: NanoUsd;
  drainMs?: number;
  chain?: Partial<ChainReader>;
  now?: () => number;
  /** Serves each identity with a key of its own at the provider. */
  subKeys?: boolean;
  /** The operator's settings that differ from no limit. */
  operator?: Partial<OperatorConfig>;
  request?: Partial<RequestLimits>;
  upstream?: Partial<UpstreamConfig>;
  tracing?: Tracing;
  relay?: { url: string; secret: string };
  /** In place of the gateway's own. */
  makeApp?: typeof makeApp;
};

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  let aheadMs = 0;
  const {
    ceilingNanoUsd = 1_000_000_000_000,
    drainMs = 25_000,
    now = () => Date.now() + aheadMs,
    hurry = 1,
    subKeys = false,
    makeApp: makeAppOf = makeApp,
  } = options;
  const canary = `canary-${randomBytes(16).toString("hex")}`;
  const adminKey = `${canary}-admin`;
  const simulator = await startProviderSimulator({ port: 0, masterKey: canary, adminKey });
  const folder = mkdtempSync(join(tmpdir(), "gateway-"));
  const file = join(folder, "gateway.sqlite");
  // The effect of a power cut is not tested here.
  const database = openDatabase(file, "NORMAL");
  const keyValue = openKeyValue(`${file}-kv`, now);
  const logged: Stack["logged"] = [];
  const log: Environment["log"] = (level, event, fields = {}) => logged.push({ level, event, fields });
  const ledger = openNodeLedger(database, {
    now,
    epoch: 1,
    onAlert: (message) => log("alert", "ledger", { message }),
    onFatal: (error) => log("alert", "fatal", { error: String(error) }),
  });
  const background = makeBackground();
  const dashboard = readDashboard({ BASE_URL: "http://gateway.test", DASHBOARD_SCRIPT: undefined });
  // The start itself takes the time it takes.
  let speed = 1;
  const provider = options.provider ?? simulator.url;
  const upstream = openUpstream(provider);
  const webhooks = openWebhooks({ local: true });
  const secret = randomBytes(32);
  const bodies = openBodyThread({ secret });
  const environment: Environment = {
    clock: { now },
    random: { bytes: (length) => randomBytes(length) },
    ledger,
    keyValue,
    chain: { ...noChain, ...options.chain },
    ...(dashboard === undefined ? {} : { dashboard }),
    gzip,
    upstream,
    webhooks,
    mcpSdk: () => import("@inference/gateway/mcp-sdk"),
    relay: fetch,
    readLargeBody: bodies.read,
    log,
    tracing: options.tracing,
    background: background.add,
    timers: { after: (ms, callback) => timers.after(ms / speed, callback) },
  };
  const gateway = makeGateway(
    {
      baseUrl: "http://gateway.test",
      secret,
      chainIds: [31337],
      settlement: { chainId: 31337, address: "0x00000000000000000000000000000000000005e7" },
      drainMs,
      bodyMemoryBytes: 256 * 1024 * 1024,
      answerMemoryBytes: 128 * 1024 * 1024,
      ledgerIsFar: false,
      relay: options.relay ?? null,
      posting: { postNanoUsd: 1_000_000_000, leastNanoUsd: 10_000_000, intervalMs: 86_400_000 },
      request: { ...defaultRequestLimits, ...options.request },
      chains: [],
      operator: {
        ...noLimits,
        failures: options.failures === true ? { most: 18, windowMs: 30_000 } : null,
        ...options.operator,
      },
      upstream: {
        baseUrl: provider,
        apiKey: canary,
        profile: "generic",
        subKeys: "on",
        probe: "off",
        betaModels: "off",
        catalogueShape: "model-spec",
        pricesFile: null,
        aliases: {},
        chatExtras: { venice_parameters: { include_venice_system_prompt: false } },
        chatOutputField: "max_completion_tokens",
        defaultOutputTokens: 32_768,
        recordUrl: null,
        recordKey: canary,
        billing: null,
        adminKey: subKeys ? adminKey : null,
        blockedHeader: "x-venice-is-content-violation",
        ...options.upstream,
      },
    },
    environment,
  );
  const notifier = makeNotifier(gateway);
  await gateway.prices.refresh();
  speed = hurry;
  const put: HostParts["put"] = (partition, command) => ledger.run(() => send(partition, command));
  await openChain(put);
  await put(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd });
  const { stalledReaderMs: STALLED_READER_MS } = gateway.config.request;
  const server = await listen(makeAppOf(gateway), { HOST: "127.0.0.1", PORT: 0, STALLED_READER_MS });
  async function stop(): Promise<void> {
    await server.close();
    await background.settled(5_000);
    await bodies.stop();
    await upstream.close();
    await webhooks.close();
    await simulator.close();
    await ledger.close();
    database.close();
    keyValue.close();
    rmSync(folder, { recursive: true });
  }
  return hostOf({
    url: server.url,
    gateway,
    ledger,
    simulator,
    canary,
    logged,
    database,
    credentials: gateway.credentials,
    put,
    read: ledger.read,
    async rows(table, partition, id) {
      await ledger.flush();
      const { select, list, toRow } = tableSql[table];
      const stored =
        id === undefined
          ? database.prepare(list).all(partition, "", 100_000)
          : database.prepare(select).all(partition, id);
      return stored.map((columns) => toRow(columns) as Tables[typeof table]);
    },
    keyValue,
    said: async (text) =>
      logged
        .map(({ level, event, fields }) => ({ level, event, ...fields }))
        .filter((line) => JSON.stringify(line).includes(text)),
    now,
    async goTo(at) {
      aheadMs = at - Date.now();
      // The job that reads prices again goes by a timer, which knows nothing of this clock.
      await gateway.prices.refresh();
    },
    async sendNotices() {
      await notifier.begin(new AbortController().signal);
      await notifier.settled();
    },
    async forget() {
      await forgetAll(gateway, new AbortController().signal);
    },
    headersFor: () => ({}),
    stop,
    [Symbol.asyncDispose]: stop,
  });
}

const noChain: ChainReader = {
  agentOwner: async () => null,
  agentSeller: async () => null,
  capacityToday: async () => ({ capacityNanoUsd: 0, at: Date.now() }),
  acceptsSignature: async () => false,
  books: async () => null,
  pendingActivations: () => [],
  following: () => ({ state: "following", block: 0, lagBlocks: 0 }),
};
