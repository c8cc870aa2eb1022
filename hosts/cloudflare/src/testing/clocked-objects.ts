import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, Reply, ReplyOf } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { tableNames } from "@inference/ledger/schema";
import { isHold, type ReadRows, type TableName, type Tables } from "@inference/ledger/tables";
import { createKey, hear } from "@inference/ledger/testing/example";
import type { WorldHost } from "@inference/ledger/testing/world";
import { type RunningWorker, startWorker } from "../local/workerd.ts";

/** The calls of tests: read an object's rows, ask it twice at once, ring its alarm, evict it, erase it. */
export type Call = "rows" | "storage" | "alarmAt" | "ask" | "askAndRing" | "looks" | "ring" | "evict" | "erase";
/** At a time: a command for one object, or a call to many. */
export type Asked =
  | { at: number; partition: Partition; command: Command }
  | { at: number; partitions: Partition[]; call: Call };
/** The size of an object's storage, and the rows of each SQL table. */
export type Storage = { bytes: number; rows: Record<string, number> };
export type StoredRows = { [T in TableName]: Tables[T][] };

/** The ledger's objects on local workerd, under the test's clock. */
export type ClockedObjects = {
  /** Anew, with nothing in them. The rows it shows are those that each object had after its last command. */
  open(clock: { now(): number }): Promise<ClockedHost>;
  /** How often everything that is not stored was lost. */
  readonly lost: { evictions: number; kills: number };
  /** The log since the last kill. */
  said(): string;
  stop(): Promise<void>;
};
export type ClockedHost = WorldHost & {
  /** Answers in the order of the partitions; null for what answers nothing. */
  call<T>(call: Call, partitions: readonly Partition[]): Promise<T[]>;
};

/** Every so many crashes that lose everything end the process. The others evict each object. */
const KILL_EVERY = 8;

export async function startClockedObjects(): Promise<ClockedObjects> {
  const folder = mkdtempSync(join(tmpdir(), "objects-"));
  const lost = { evictions: 0, kills: 0 };
  let crashes = 0;
  let touched = new Set<Partition>();
  let worker = await start();

  function start(): Promise<RunningWorker> {
    return startWorker({ folder, entry: new URL("clocked-worker.ts", import.meta.url), settings });
  }

  async function ask<T>(asked: Asked): Promise<T> {
    const response = await fetch(worker.url, { method: "POST", body: JSON.stringify(asked) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the objects answered ${response.status}: ${text}\n${worker.said()}`);
    return JSON.parse(text) as T;
  }

  async function open(clock: { now(): number }): Promise<ClockedHost> {
    async function call<T>(name: Call, partitions: readonly Partition[]): Promise<T[]> {
      for (const partition of partitions) touched.add(partition);
      return ask({ at: clock.now(), partitions: [...partitions], call: name });
    }
    await call("erase", [...touched]);
    touched = new Set();
    const stored = new Map<Partition, StoredRows>();
    return {
      call,
      async apply<C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>> {
        touched.add(partition);
        const { reply, rows } = await ask<{ reply: Reply; rows: StoredRows }>({ at: clock.now(), partition, command });
        stored.set(partition, rows);
        return reply as ReplyOf<C>;
      },
      rows: (partition) => readRows(stored.get(partition)),
      all: (table) => [...stored].flatMap(([partition, rows]) => rows[table].map((row) => ({ partition, row }))),
      async crash() {
        crashes += 1;
        if (crashes % KILL_EVERY === 0) {
          await worker.stop();
          worker = await start();
          lost.kills += 1;
        } else {
          await call("evict", [...touched]);
          lost.evictions += touched.size;
        }
      },
    };
  }

  return {
    lost,
    open,
    said: () => worker.said(),
    async stop() {
      await worker.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

const nothing = Object.fromEntries(tableNames.map((table) => [table, []])) as unknown as StoredRows;

function readRows(stored: StoredRows = nothing): ReadRows {
  return {
    get: (table, id) => stored[table].find((row) => row.id === id) as never,
    list: (table, { after = "", limit }) => stored[table].filter(({ id }) => id > after).slice(0, limit) as never,
    newest: (table, { before, limit }) =>
      stored[table]
        .filter(({ id }) => id < before)
        .toReversed()
        .slice(0, limit) as never,
    liveKeys: () => stored.key.filter(({ revokedAt }) => revokedAt === null),
    holds: () => stored.receipt.filter(isHold),
  };
}

/** An object's own jobs need a gateway: one without a provider or a chain. */
const settings = {
  GATEWAY_SECRET: randomBytes(32).toString("hex"),
  UPSTREAM_BASE_URL: "http://127.0.0.1:9",
  UPSTREAM_API_KEY: "none",
  PRIMARY_RPC_URL: "http://127.0.0.1:9",
  PRIMARY_CHAIN_ID: "31337",
  UPSTREAM_RECORD_URL: "http://127.0.0.1:9/records?since={since}",
  SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
};

/** An account with a balance of 100,000 and the key of the digest `digest`. */
export async function fund(host: ClockedHost, account: Partition, at: number): Promise<void> {
  await host.apply(account, hear(100_000, { at }));
  await host.apply(account, createKey("key", { at, digest: "digest", nonceExpiresAt: at }));
}
