import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeApp } from "@inference/gateway/app";
import {
  defaultDrainMs,
  defaultRequestLimits,
  type OperatorConfig,
  type RequestLimits,
} from "@inference/gateway/config";
import type { Environment, LogFields } from "@inference/gateway/environment";
import { type Gateway, makeGateway } from "@inference/gateway/gateway";
import { noLimits } from "@inference/gateway/test/no-limits";
import type { HostOptions, HostUnderTest, TestAccount } from "@inference/gateway/test/settlement/host-under-test";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { tableSql } from "@inference/ledger/sql";
import type { Tables } from "@inference/ledger/tables";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { makeBackground } from "../background.ts";
import { openDatabase } from "../database.ts";
import { openKeyValue } from "../key-value.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";
import { listen } from "../listen.ts";
import { timers } from "../timers.ts";
import { openUpstream } from "../upstream.ts";

/**
 * The gateway over real HTTP, on a real file, in front of the provider simulator, in one process: everything but a
 * chain. Accounts are credited in the ledger directly.
 */
export type Stack = Own & Omit<HostUnderTest, keyof Own>;
type Own = {
  url: string;
  gateway: Gateway;
  ledger: NodeLedger;
  /** The master key at the provider: must appear in no byte that leaves. */
  canary: string;
  logged: { level: string; event: string; fields: LogFields }[];
  /** The gateway's file, to look into. */
  database: DatabaseSync;
  account(balanceNanoUsd: NanoUsd, limit?: { window: Window; limitNanoUsd: NanoUsd }): Promise<TestAccount>;
  call(path: string, init?: { key?: string; body?: unknown; method?: string; signal?: AbortSignal }): Promise<Response>;
  balance(address: Address): Promise<{ settledNanoUsd: number; heldNanoUsd: number; availableNanoUsd: number }>;
};

export type { TestAccount };

export type StackOptions = HostOptions & {
  ceilingNanoUsd?: NanoUsd;
  drainMs?: number;
  chain?: Partial<ChainReader>;
  now?: () => number;
  /** Serves each identity with a key of its own at the provider. */
  subKeys?: boolean;
  /** What an operator set otherwise than to no limit. */
  operator?: Partial<OperatorConfig>;
  request?: Partial<RequestLimits>;
  /** In place of the gateway's own. */
  makeApp?: typeof makeApp;
};

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const {
    ceilingNanoUsd = 1_000_000_000_000,
    drainMs = defaultDrainMs,
    now = Date.now,
    hurry = 1,
    subKeys = false,
    makeApp: makeAppOf = makeApp,
  } = options;
  const canary = `canary-${randomBytes(16).toString("hex")}`;
  const adminKey = `${canary}-admin`;
  const simulator = await startProviderSimulator({ port: 0, masterKey: canary, adminKey });
  const folder = mkdtempSync(join(tmpdir(), "gateway-"));
  const file = join(folder, "gateway.sqlite");
  const database = openDatabase(file);
  const keyValue = openKeyValue(`${file}-kv`, now);
  const logged: Stack["logged"] = [];
  const log: Environment["log"] = (level, event, fields = {}) => logged.push({ level, event, fields });
  const ledger = openNodeLedger(database, {
    now,
    onAlert: (message) => log("alert", "ledger", { message }),
    onFatal: (error) => log("alert", "fatal", { error: String(error) }),
  });
  const background = makeBackground();
  // The start itself takes the time it takes.
  let speed = 1;
  const provider = options.provider ?? simulator.url;
  const upstream = openUpstream(provider);
  const environment: Environment = {
    clock: { now },
    random: { bytes: (length) => randomBytes(length) },
    ledger,
    keyValue,
    chain: { ...noChain, ...options.chain },
    upstream,
    log,
    background: background.add,
    timers: { after: (ms, callback) => timers.after(ms / speed, callback) },
  };
  const gateway = makeGateway(
    {
      baseUrl: "http://gateway.test",
      secret: randomBytes(32),
      chainIds: [31337],
      drainMs,
      heldBodyBytes: 256 * 1024 * 1024,
      heldAnswerBytes: 128 * 1024 * 1024,
      request: { ...defaultRequestLimits, ...options.request },
      chains: [],
      operator: { ...noLimits, ...options.operator },
      upstream: {
        baseUrl: provider,
        apiKey: canary,
        catalogueShape: "model-spec",
        pricesFile: null,
        aliases: {},
        chatExtras: { venice_parameters: { include_venice_system_prompt: false } },
        chatOutputField: "max_completion_tokens",
        recordUrl: null,
        recordKey: canary,
        adminKey: subKeys ? adminKey : null,
        blockedHeader: "x-venice-is-content-violation",
      },
    },
    environment,
  );
  await gateway.prices.refresh();
  speed = hurry;
  await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd }));
  const { stalledReaderMs: STALLED_READER_MS } = gateway.config.request;
  const server = await listen(makeAppOf(gateway), { HOST: "127.0.0.1", PORT: 0, STALLED_READER_MS });
  return {
    url: server.url,
    gateway,
    ledger,
    simulator,
    canary,
    logged,
    database,
    account: (balanceNanoUsd, limit) => makeAccount(gateway, balanceNanoUsd, limit),
    call: (path, { key, body, method = body === undefined ? "GET" : "POST", signal } = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    read: ledger.read,
    async rows(table, partition) {
      await ledger.flush();
      const { list, toRow } = tableSql[table];
      const stored = database.prepare(list).all(partition, "", 100_000);
      return stored.map((columns) => toRow(columns) as Tables[typeof table]);
    },
    usageAlerts: async (requestId) =>
      logged
        .filter(({ level, event, fields }) => level === "alert" && event === "usage" && fields.request === requestId)
        .map(({ fields }) => String(fields.alert)),
    modelAlerts: async (requestId) =>
      logged
        .filter(({ event, fields }) => event === "other_model" && fields.request === requestId)
        .map(({ fields }) => String(fields.answered)),
    lossAlerts: async (requestId) =>
      logged
        .filter(({ level, event, fields }) => level === "alert" && event === "loss" && fields.request === requestId)
        .map(({ fields }) => Number(fields.lossNanoUsd)),
    async balance(address) {
      const view = await ledger.read(accountPartition(address), { type: "balance", at: now() });
      return { ...view, availableNanoUsd: view.availableNanoUsd ?? 0 };
    },
    async stop() {
      await server.close();
      await background.settled(5_000);
      await upstream.close();
      await simulator.close();
      await ledger.close();
      database.close();
      keyValue.close();
      rmSync(folder, { recursive: true });
    },
  };
}

let lastAccount = 0;

async function makeAccount(
  gateway: Gateway,
  balanceNanoUsd: NanoUsd,
  limit: { window: Window; limitNanoUsd: NanoUsd } | undefined,
): Promise<TestAccount> {
  lastAccount += 1;
  const number = lastAccount;
  const address: Address = `0x${number.toString(16).padStart(40, "0")}`;
  const { text, digest, label } = gateway.credentials.issue("ik", address);
  const { ledger, clock } = gateway.environment;
  const at = clock.now();
  await ledger.run(function* () {
    const partition = accountPartition(address);
    yield* send(partition, { type: "credit", id: `test:${number}`, at, amountNanoUsd: balanceNanoUsd, detail: "{}" });
    yield* send(partition, {
      type: "createKey",
      at,
      keyId: `key_${number}`,
      digest,
      label,
      name: "test",
      window: limit?.window ?? "lifetime",
      limitNanoUsd: limit?.limitNanoUsd ?? null,
      expiresAt: null,
      nonce: `nonce${number}nonce`,
      nonceExpiresAt: at,
    });
  });
  return { address, key: text };
}

const noChain: ChainReader = {
  agentOwner: async () => null,
  capacityToday: async () => ({ capacityNanoUsd: 0, at: Date.now() }),
  acceptsSignature: async () => false,
  books: async () => null,
  pendingActivations: () => [],
  following: () => ({ state: "following", block: 0, lagBlocks: 0 }),
};
