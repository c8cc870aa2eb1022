import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { type HostUnderTest, hostOf, type LogLine } from "@inference/gateway/test/host";
import { ceilingPartition } from "@inference/ledger/partition";
import type { NanoUsd } from "@inference/protocol/money";
import { eventually } from "@inference/protocol/testing/eventually";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { type RunningWorker, startWorker, type WorkerOptions } from "../local/workerd.ts";
import { openDepartures } from "./departures.ts";

/** The whole gateway on local workerd, with the provider simulator, and an endpoint to its ledger. */
export type Edge = HostUnderTest & {
  /** A method of the object under test. */
  object(partition: string, method: string, ...args: unknown[]): Promise<unknown>;
  chat(key: string, body: object, init?: { signal?: AbortSignal; headers?: Record<string, string> }): Promise<Response>;
  /** Turns what `worker-under-test.ts` lets a test turn. */
  set(what: Record<string, string | number>): Promise<void>;
  /** The last of what it has written to its log. */
  output(): string;
  /** Ends the process and starts it again over what is on disk. */
  restart(): Promise<void>;
};

type Modules = {
  entry?: URL;
  keyValue?: URL;
  beside?: NonNullable<WorkerOptions["beside"]>;
  start?: typeof startWorker;
  ceilingNanoUsd?: NanoUsd;
  /** Serves each identity with a key of its own at the provider. */
  subKeys?: boolean;
};

export async function startEdge(
  settings: Readonly<Record<string, string>> = {},
  { start: startWith = startWorker, ceilingNanoUsd = 50_000_000_000, subKeys = false, ...modules }: Modules = {},
): Promise<Edge> {
  const secret = randomBytes(32);
  const folder = mkdtempSync(join(tmpdir(), "edge-"));
  const masterKey = `canary-${randomBytes(16).toString("hex")}`;
  const simulator = await startProviderSimulator({ masterKey, adminKey: `${masterKey}-admin` });
  const departures = await openDepartures();
  const start = () =>
    startWith({
      entry: new URL("worker-under-test.ts", import.meta.url),
      ...modules,
      folder,
      settings: {
        GATEWAY_SECRET: secret.toString("hex"),
        UPSTREAM_BASE_URL: simulator.url,
        UPSTREAM_API_KEY: masterKey,
        UPSTREAM_CHAT_EXTRAS: '{"venice_parameters":{"include_venice_system_prompt":false}}',
        UPSTREAM_RECORD_URL: `${simulator.url}/billing/usage-history?pageSize=1000&startTimestamp={since}`,
        UPSTREAM_RECORD_KEY: `${masterKey}-admin`,
        UPSTREAM_BILLING_URL: "/billing/usage-history?startTimestamp={start}&endTimestamp={end}",
        UPSTREAM_BILLING_KEY: `${masterKey}-admin`,
        PRIMARY_RPC_URL: "http://127.0.0.1:9",
        PRIMARY_CHAIN_ID: "31337",
        SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
        ...(subKeys ? { UPSTREAM_ADMIN_KEY: `${masterKey}-admin` } : {}),
        // A test meets this limit only if it is about it.
        UPSTREAM_FAILURES: "0",
        ACCESS_LOG: "1",
        // Faults must not take a model out of service.
        UPSTREAM_PROBE: "off",
        ...settings,
      },
    });
  let worker: RunningWorker = await start();
  let aheadMs = 0;
  let questions = 0;

  async function door(body: object): Promise<never> {
    const response = await fetch(`${worker.url}/__ledger`, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`the ledger's door answered ${response.status}: ${text}\n${worker.said().slice(-SAID_LENGTH)}`);
    }
    return JSON.parse(text) as never;
  }

  async function set(what: Record<string, string | number>): Promise<void> {
    await fetch(`${worker.url}/__set`, { method: "POST", body: JSON.stringify(what) });
  }

  const edge = hostOf({
    get url() {
      return worker.url;
    },
    simulator,
    credentials: makeCredentials(secret, { bytes: (length) => randomBytes(length) }),
    put: (partition, command) => door({ partition, command }),
    read: (partition, query) => door({ partition, query }),
    rows: (table, partition, id) =>
      door({ partition, call: ["rows", partition, table, ...(id === undefined ? [] : [id])] }),
    keyValue: {
      get: (key) => door({ keyValue: ["get", key] }),
      put: (key, value) => door({ keyValue: ["put", key, value] }),
      delete: (key) => door({ keyValue: ["delete", key] }),
      list: (prefix, limit) => door({ keyValue: ["list", prefix, limit] }),
    },
    async said(text) {
      // The log is in order: after this line, all earlier ones are here.
      questions += 1;
      const question = `question ${questions}.`;
      await set({ say: question });
      await eventually(() => worker.said().includes(question));
      return linesWith(worker.said(), text);
    },
    now: () => Date.now() + aheadMs,
    async goTo(at) {
      aheadMs = at - Date.now();
      await set({ aheadMs });
      // A request that finds prices too old waits for them.
      await fetch(`${worker.url}/api/v1/models`);
    },
    // Each object has its alarm.
    sendNotices: async () => undefined,
    async forget(partitions) {
      for (const partition of partitions) await door({ partition, call: ["work"] });
    },
    headersFor: departures.headerOf,
    object: (partition: string, method: string, ...args: unknown[]) => door({ partition, call: [method, ...args] }),
    chat: (
      key: string,
      body: object,
      { headers, ...init }: { signal?: AbortSignal; headers?: Record<string, string> } = {},
    ) =>
      fetch(`${worker.url}/api/v1/chat/completions`, {
        ...init,
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "sim-small", max_tokens: 50, ...body }),
      }),
    set,
    output: () => worker.said(),
    async restart() {
      await worker.stop();
      worker = await start();
      await set({ aheadMs });
    },
    async stop() {
      await worker.stop();
      await simulator.close();
      await departures.close();
      rmSync(folder, { recursive: true });
    },
  });
  await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd });
  return edge;
}

/** Searches the text before it parses lines: there are many, and few match. */
function linesWith(output: string, text: string): LogLine[] {
  const lines: LogLine[] = [];
  for (let at = output.indexOf(text); at !== -1; at = output.indexOf(text, at)) {
    const end = output.indexOf("\n", at);
    const line = output.slice(output.lastIndexOf("\n", at) + 1, end === -1 ? undefined : end);
    if (line.startsWith('{"level":')) lines.push(JSON.parse(line) as LogLine);
    if (end === -1) break;
    at = end + 1;
  }
  return lines;
}

/** How much of the Worker's log an error of its door repeats, in characters. */
const SAID_LENGTH = 2_000;
