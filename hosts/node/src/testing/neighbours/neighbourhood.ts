import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bookAccount } from "@inference/gateway/test/chaos/books";
import { accountPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { withBooks } from "../../chaos/books.ts";
import { gatewayEnvironment, gatewayUrl, type Running, start } from "../../chaos/processes.ts";
import type { HostileKeys, HostileKindName } from "./hostile-kinds.ts";
import type { HostileOrder, HostileReport } from "./hostile-load.ts";
import type { Measured } from "./measured-gateway.ts";

/**
 * A gateway, its provider, hostile clients and a paying customer, each in a process of its own (the customer in the
 * test's), so that what the gateway's process takes is its own.
 */
export type Neighbourhood = {
  /** The customer asks at a steady rate while so many hostile connections do one kind of thing. */
  measure(kind: HostileKindName | null, options: { connections: number; forMs: number }): Promise<Harm>;
  stop(): Promise<void>;
};

export type Harm = Measured & {
  customer: { requests: number; failed: string[]; p50Ms: number; p99Ms: number };
  hostile: HostileReport;
};

const USD = 1_000_000_000;
const SECRET = "d7".repeat(32);
const EACH_MS = 25;
const MOST_IN_FLIGHT = 32;
const OTHERS = 20;

export async function startNeighbourhood(options: { receipts: number }): Promise<Neighbourhood> {
  const folder = mkdtempSync(join(tmpdir(), "neighbours-"));
  const running: Running[] = [];
  async function stop(): Promise<void> {
    agent.destroy();
    for (const process of running) await process.kill();
    rmSync(folder, { recursive: true });
  }
  const agent = new Agent({ keepAlive: true });
  try {
    const databaseFile = join(folder, "gateway.sqlite");
    const { customer, keys } = await makeBooks(databaseFile);
    const script = (name: string): string => `../testing/neighbours/${name}.ts`;
    const provider = await start({ script: script("large-provider") });
    running.push(provider);
    const env: Record<string, string> = {
      ...gatewayEnvironment({ databaseFile, secret: SECRET, provider: { url: provider.ready } }),
      UPSTREAM_MODEL_REQUESTS: "0",
      UPSTREAM_FAILURES: "0",
      // Hostile clients have many addresses and accounts; here they and the customer share one address.
      ACCOUNT_REQUESTS_PER_MINUTE: "0",
      ADDRESS_REQUESTS_PER_MINUTE: "0",
    };
    const gateway = await start({ script: script("measured-gateway"), env });
    running.push(gateway);
    const hostile = await start({ script: script("hostile-load") });
    running.push(hostile);
    const url = gatewayUrl(gateway.ready);
    const ask = (key: string): Promise<number | string> => askChat(url, agent, key);
    for (let made = 0; made < options.receipts; made += 16) {
      await Promise.all(Array.from({ length: 16 }, () => ask(keys.paying)));
    }
    return {
      stop,
      async measure(kind, { connections, forMs }) {
        const order = { url, baseUrl: env.BASE_URL ?? "", keys, kind, connections };
        if (kind !== null) await tell(hostile, { ...order, kind } satisfies HostileOrder);
        // A burst at the start differs from steady load.
        await tell(gateway, "measure");
        const asked: Promise<number | string>[] = [];
        let open = 0;
        const until = performance.now() + forMs;
        for (let due = performance.now(); due < until; due += EACH_MS) {
          await sleep(Math.max(0, due - performance.now()));
          // On a busy machine the requests queue up, and the account's limit is not what is tested.
          while (open >= MOST_IN_FLIGHT) await sleep(1);
          open += 1;
          asked.push(ask(customer).finally(() => (open -= 1)));
        }
        const took = await Promise.all(asked);
        const measured = (await tell(gateway, "measure")) as Measured;
        const report = kind === null ? {} : ((await tell(hostile, "stop")) as HostileReport);
        await settle(gateway);
        return { ...measured, customer: summary(took), hostile: report };
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** All requests are over before the next kind begins. */
async function settle(gateway: Running): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    await tell(gateway, "measure");
    await sleep(200);
    const { busy } = (await tell(gateway, "measure")) as Measured;
    if (busy < 0.2) return;
  }
}

async function makeBooks(file: string): Promise<{ customer: string; keys: HostileKeys }> {
  return withBooks(file, async (ledger) => {
    const book = (number: number, balanceNanoUsd: number) => bookAccount(ledger, SECRET, number, { balanceNanoUsd });
    const customer = await book(1, 1_000 * USD);
    const paying = await book(2, 1_000 * USD);
    const revoked = await book(3, 1_000 * USD);
    await ledger.run(() =>
      send(accountPartition(revoked.address), { type: "revokeKey", at: Date.now(), keyId: revoked.keyId }),
    );
    const unpaid = await book(4, 1);
    const others = await Promise.all(Array.from({ length: OTHERS }, (_, index) => book(10 + index, 1_000 * USD)));
    return {
      customer: customer.key,
      keys: { paying: paying.key, revoked: revoked.key, unpaid: unpaid.key, others: others.map(({ key }) => key) },
    };
  });
}

async function tell(process: Running, message: object | string): Promise<unknown> {
  const answer = once(process.child, "message");
  process.child.send(message);
  const [told] = await answer;
  return told;
}

/** The milliseconds that a tiny chat took, or why it was not served. */
function askChat(url: string, agent: Agent, key: string): Promise<number | string> {
  const body = JSON.stringify({ model: "sim-small", max_tokens: 10, messages: [{ role: "user", content: "Hello." }] });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": body.length };
  const from = performance.now();
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/chat/completions`, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (data) => {
        text += data;
      });
      answer.on("close", () => resolve(answer.statusCode === 200 ? performance.now() - from : text));
    });
    sent.on("error", (error) => resolve(String(error)));
    sent.end(body);
  });
}

function summary(took: readonly (number | string)[]): Harm["customer"] {
  const served = took.filter((ms) => typeof ms === "number").sort((one, other) => one - other);
  const failed = took.filter((why) => typeof why === "string");
  const part = (of: number): number => served[Math.min(served.length - 1, Math.floor(of * served.length))] ?? 0;
  return { requests: took.length, failed, p50Ms: part(0.5), p99Ms: part(0.99) };
}
