import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import type { Command, ReplyOf } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { type RunningWorker, startWorker } from "../local/workerd.ts";
import { openDepartures } from "./departures.ts";

/** The whole gateway on local workerd, with the provider simulator, and a door to its ledger. */
export type Edge = {
  readonly url: string;
  readonly simulator: Awaited<ReturnType<typeof startProviderSimulator>>;
  put<C extends Command>(partition: string, command: C): Promise<ReplyOf<C>>;
  ask<Q extends Query>(partition: string, query: Q): Promise<AnswerOf<Q>>;
  /** A method of the object under test. */
  call(partition: string, method: string, ...args: unknown[]): Promise<unknown>;
  /** A key of an account with a dollar, under a ceiling of fifty, unless it is said otherwise. */
  fund(address: Address, terms?: Terms): Promise<{ key: string; digest: string }>;
  chat(key: string, body: object, init?: { signal?: AbortSignal; headers?: Record<string, string> }): Promise<Response>;
  /** The header by which a Worker learns that the client with this signal has left, also before its answer began. */
  leaving(signal: AbortSignal): Record<string, string>;
  said(): string;
  /** Ends the process and starts it again over what is on disk. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

type Modules = { entry?: URL; keyValue?: URL; start?: typeof startWorker };
type Terms = { balanceNanoUsd?: NanoUsd; ceilingNanoUsd?: NanoUsd; window?: Window; limitNanoUsd?: NanoUsd };

export async function startEdge(
  settings: Readonly<Record<string, string>> = {},
  { start: startWith = startWorker, ...modules }: Modules = {},
): Promise<Edge> {
  const secret = randomBytes(32);
  const folder = mkdtempSync(join(tmpdir(), "edge-"));
  const simulator = await startProviderSimulator({ masterKey: "master-key", adminKey: "admin-key" });
  const departures = await openDepartures();
  const start = () =>
    startWith({
      entry: new URL("worker-under-test.ts", import.meta.url),
      ...modules,
      folder,
      settings: {
        GATEWAY_SECRET: secret.toString("hex"),
        UPSTREAM_BASE_URL: simulator.url,
        UPSTREAM_API_KEY: "master-key",
        UPSTREAM_CHAT_EXTRAS: '{"venice_parameters":{"include_venice_system_prompt":false}}',
        UPSTREAM_RECORD_URL: `${simulator.url}/billing/usage-history?pageSize=1000&startTimestamp={since}`,
        UPSTREAM_RECORD_KEY: "admin-key",
        PRIMARY_RPC_URL: "http://127.0.0.1:9",
        PRIMARY_CHAIN_ID: "31337",
        SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
        ...settings,
      },
    });
  let worker: RunningWorker = await start();

  async function ledger(body: object): Promise<never> {
    const response = await fetch(`${worker.url}/__ledger`, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the ledger's door answered ${response.status}: ${text}`);
    return JSON.parse(text) as never;
  }

  const edge: Edge = {
    get url() {
      return worker.url;
    },
    simulator,
    put: (partition, command) => ledger({ partition, command }),
    ask: (partition, query) => ledger({ partition, query }),
    call: (partition, method, ...args) => ledger({ partition, call: [method, ...args] }),
    async fund(address, terms = {}) {
      const { balanceNanoUsd = 1_000_000_000, ceilingNanoUsd = 50_000_000_000 } = terms;
      const { window = "lifetime", limitNanoUsd = null } = terms;
      const { text: key, digest, label } = makeCredentials(secret, { bytes: randomBytes }).issue("ik", address);
      const at = Date.now();
      const account = accountPartition(address);
      await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd });
      await edge.put(account, { type: "credit", id: "test:1", at, amountNanoUsd: balanceNanoUsd, detail: "{}" });
      await edge.put(account, {
        type: "createKey",
        at,
        keyId: "key_1",
        digest,
        label,
        name: "test",
        window,
        limitNanoUsd,
        expiresAt: null,
        nonce: "testtest",
        nonceExpiresAt: at,
      });
      return { key, digest };
    },
    chat: (key, body, { headers, ...init } = {}) =>
      fetch(`${worker.url}/api/v1/chat/completions`, {
        ...init,
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "sim-small", max_tokens: 50, ...body }),
      }),
    leaving: departures.headerOf,
    said: () => worker.said(),
    async restart() {
      await worker.stop();
      worker = await start();
    },
    async stop() {
      await worker.stop();
      await simulator.close();
      departures.close();
      rmSync(folder, { recursive: true });
    },
  };
  return edge;
}
