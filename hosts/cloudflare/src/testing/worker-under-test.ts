import type {
  DurableObjectState,
  DurableObjectStorage,
  ExecutionContext,
  SqlStorageValue,
} from "@cloudflare/workers-types";
import type { Command, CommandType } from "@inference/ledger/commands";
import { sendHeard } from "@inference/ledger/hearing";
import { chainPartition, type Partition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import { send } from "@inference/ledger/saga";
import type { Change, TableName } from "@inference/ledger/tables";
import type { Bindings } from "../bindings.ts";
import type { ChainLook } from "../chain-look.ts";
import { ChainObject as RealChainObject } from "../chain-object.ts";
import type { Outcome } from "../deliveries.ts";
import type { Bucket } from "../export.ts";
import { makeEdgeLedger } from "../ledger.ts";
import { Operator } from "../operator.ts";
import { openOwnRows } from "../own-rows.ts";
import { PartitionObject as RealPartitionObject } from "../partition-object.ts";
import type { LogBounds } from "../row-log.ts";
import worker from "../worker.ts";

/** The test's settings: the clock, the divisor of timers, the provider, and the kind of objects out of service. */
const turned = { aheadMs: 0, hurry: 1, provider: "", out: "" };
const { fetch: realFetch, setTimeout: realSetTimeout } = globalThis;
const realNow = Date.now;
Date.now = () => realNow() + turned.aheadMs;
globalThis.setTimeout = ((callback: () => void, ms = 0) =>
  realSetTimeout(callback, ms / turned.hurry)) as typeof setTimeout;

function assertInService(name: string): void {
  if (turned.out !== "" && name.startsWith(turned.out)) throw new Error("out of service");
}

export class ChainObject extends RealChainObject {
  override async look(): Promise<ChainLook> {
    assertInService("chain");
    return super.look();
  }
}

/** The real object under that clock, and its faults. */
export class PartitionObject extends RealPartitionObject {
  #refused: CommandType = "allow";
  #refusals = 0;
  #lost: CommandType | undefined;
  #losses = 0;
  #isOut = false;

  constructor(ctx: DurableObjectState, env: Bindings, bounds?: LogBounds) {
    const { storage } = ctx;
    const copy = toPutBack.get(ctx.id.toString());
    if (copy !== undefined) putBack(storage, copy);
    toPutBack.delete(ctx.id.toString());
    const setAlarm = storage.setAlarm.bind(storage);
    storage.setAlarm = (at) => setAlarm(Number(at) - turned.aheadMs);
    const slots = Number(env.LOG_SLOTS ?? 0);
    super(
      ctx,
      { ...env, EXPORT: bucket as Bucket },
      bounds ?? (slots > 0 ? { slots, characters: 100_000 } : undefined),
    );
  }

  override async executeAll(partition: Partition, commands: readonly Command[]): Promise<Outcome[]> {
    if (this.#isOut) throw new Error("out of service");
    assertInService(partition);
    const refused = new Set(commands.filter(({ type }) => type === this.#refused).slice(0, this.#refusals));
    this.#refusals -= refused.size;
    const others = commands.filter((command) => !refused.has(command));
    const outcomes = (await super.executeAll(partition, others)).values();
    if (this.#losses > 0 && commands.some(({ type }) => type === this.#lost)) {
      this.#losses -= 1;
      throw new Error("the reply is lost");
    }
    return commands.map((command) => (refused.has(command) ? outOfOrder : (outcomes.next().value ?? outOfOrder)));
  }

  override async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
    assertInService(partition);
    return super.read(partition, query);
  }

  /** The next commands of a type fail: asks of the ceiling, if it is not said otherwise. */
  async refuse(times: number, type: CommandType = "allow"): Promise<void> {
    this.#refusals = times;
    this.#refused = type;
  }

  /** The next commands of a type take effect, and their replies are lost. */
  async loseReplies(times: number, type: CommandType): Promise<void> {
    this.#losses = times;
    this.#lost = type;
  }

  /** It answers no command, until it is told to again. */
  async outOfService(isOut: boolean): Promise<void> {
    this.#isOut = isOut;
  }

  /** Acknowledges after a commit, too late for it. */
  async acknowledgeLate(): Promise<void> {
    const { acknowledge, commit } = this.ownRows;
    let late: string[] = [];
    this.ownRows.acknowledge = (ids) => {
      late.push(...ids);
    };
    this.ownRows.commit = () => {
      commit();
      acknowledge(late);
      late = [];
    };
  }

  async refusalsLeft(): Promise<number> {
    return this.#refusals;
  }

  /** As after an alarm that the runtime gave up, in an object that was evicted since. */
  async loseAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }

  /** The state that `beginAt` restores. */
  async copy(partition: Partition): Promise<void> {
    await this.read(partition, { type: "cursor" });
    copies.set(this.ctx.id.toString(), copyOf(this.ctx.storage));
  }

  /** Local workerd cannot do this. The object begins with the last copy that was made of it. */
  override async beginAt(): Promise<void> {
    const copy = copies.get(this.ctx.id.toString());
    if (copy === undefined) throw new Error("there is no copy");
    toPutBack.set(this.ctx.id.toString(), copy);
  }

  /** As if commands had changed it. */
  async write(partition: Partition, changes: readonly Change[]): Promise<void> {
    this.ownRows.write(partition, changes);
    this.ownRows.commit();
  }

  /** As an object that is lost. Its copy in the bucket stays. */
  async lose(): Promise<void> {
    await this.ctx.storage.deleteAll();
    await this.ctx.storage.deleteAlarm();
    this.ctx.abort("lost");
  }

  /** The rows of a table, or the one with this id, as the answer to a question. */
  async rows(partition: Partition, table: TableName, id?: string): Promise<unknown[]> {
    await this.read(partition, { type: "cursor" });
    const rows = this.ownRows.of(partition);
    if (id === undefined) return rows.list(table, { limit: 100_000 });
    const row = rows.get(table, id);
    return row === undefined ? [] : [row];
  }

  /** As whoever wakes next will find them. */
  async storedRows(partition: Partition, table: TableName): Promise<unknown[]> {
    return openOwnRows(this.ctx.storage).of(partition).list(table, { limit: 100_000 });
  }

  /** What it stores. */
  async bytes(): Promise<number> {
    return this.ctx.storage.sql.databaseSize;
  }

  /** Does what its alarm does. */
  async work(): Promise<void> {
    await this.alarm();
  }

  /** Its alarm comes now. */
  async ring(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }
}

/** What is used of R2, which local workerd does not have. */
const exported = new Map<string, string>();
const bucket = {
  async put(key: string, text: string) {
    exported.set(key, text);
  },
  async get(key: string) {
    const text = exported.get(key);
    return text === undefined ? null : { json: async () => JSON.parse(text) as unknown };
  },
  async list({ prefix }: { prefix: string }) {
    const keys = [...exported.keys()].filter((key) => key.startsWith(prefix)).sort();
    return { objects: keys.map((key) => ({ key })), truncated: false };
  },
  async delete(keys: string[]) {
    for (const key of keys) exported.delete(key);
  },
} as unknown;

/** The tables of an object, with their rows, and then its indexes. */
type Copy = { create: string; name: string; rows: Record<string, SqlStorageValue>[] }[];
const copies = new Map<string, Copy>();
const toPutBack = new Map<string, Copy>();

const OWN_TABLES = "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND substr(name, 1, 4) <> '_cf_'";

function copyOf({ sql }: DurableObjectStorage): Copy {
  const all = sql.exec<{ name: string; type: string; sql: string }>(`${OWN_TABLES} ORDER BY type DESC`).toArray();
  return all.map(({ name, type, sql: create }) => {
    return { name, create, rows: type === "table" ? sql.exec(`SELECT * FROM ${name}`).toArray() : [] };
  });
}

function putBack(storage: DurableObjectStorage, copy: Copy): void {
  const { sql } = storage;
  for (const { name } of sql.exec<{ name: string }>(`${OWN_TABLES} AND type = 'table'`).toArray()) {
    sql.exec(`DROP TABLE ${name}`);
  }
  // Its epoch was put back too.
  void storage.delete("epoch");
  for (const { name, create, rows } of copy) {
    sql.exec(create);
    for (const row of rows) {
      const places = Object.keys(row).map(() => "?");
      sql.exec(`INSERT INTO ${name} (${Object.keys(row)}) VALUES (${places})`, ...Object.values(row));
    }
  }
}

/** The chain of `@inference/gateway/test/fund`. */
const TEST_CHAIN = chainPartition(31_337);

const outOfOrder: Outcome = { failed: "out of order" };

type Asked = {
  partition: string;
  command?: Command;
  query?: never;
  call?: [string, ...unknown[]];
  keyValue?: ["get" | "put" | "delete" | "list", string, string & number];
};

/** The real Worker, with an endpoint for tests that sends commands and queries to a partition. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    // An address without a valid host is no URL.
    if (!URL.canParse(request.url)) return worker.fetch(request, bindings, event);
    const { pathname } = new URL(request.url);
    if (pathname === "/__set") return set(await request.json(), bindings);
    if (pathname !== "/__ledger") return worker.fetch(signalled(request), bindings, event);
    const { partition, command, query, call, keyValue } = (await request.json()) as Asked;
    if (keyValue !== undefined) {
      const [method, key, value] = keyValue;
      const { KEY_VALUE } = bindings;
      if (method === "put") await KEY_VALUE.put(key, value);
      if (method === "delete") await KEY_VALUE.delete(key);
      if (method === "list") {
        const { keys } = await KEY_VALUE.list({ prefix: key, limit: value });
        return Response.json(keys.map(({ name }) => name));
      }
      return Response.json(method === "get" ? await KEY_VALUE.get(key) : null);
    }
    const ledger = makeEdgeLedger(bindings, { background: (work) => event.waitUntil(work) });
    if (command !== undefined) {
      const saga = () => ("at" in command ? sendHeard(TEST_CHAIN, partition, command) : send(partition, command));
      return Response.json(await ledger.run<object>(saga));
    }
    if (query !== undefined) return Response.json(await ledger.read(partition, query as never));
    const [method, ...args] = call ?? ["none"];
    const called: unknown =
      partition === "operator" ? new Operator(event, bindings) : bindings.PARTITION.getByName(partition);
    const object = called as { [method: string]: (...args: unknown[]) => Promise<unknown> };
    return Response.json((await object[method]?.(...args)) ?? null);
  },
};

function set({ say, ...what }: Partial<typeof turned> & { say?: string }, bindings: Bindings): Response {
  Object.assign(turned, what);
  if (say !== undefined) console.log(say);
  const { UPSTREAM_BASE_URL: simulator = "" } = bindings as unknown as Record<string, string>;
  globalThis.fetch = ((input: RequestInfo, init?: RequestInit) => {
    const isAsked = turned.provider !== "" && typeof input === "string" && input.startsWith(simulator);
    return realFetch(isAsked ? turned.provider + input.slice(simulator.length) : input, init);
  }) as typeof fetch;
  return new Response();
}

/**
 * Production says through the request's signal that a client left before its answer began; local workerd notices it
 * only when it writes to it. So the client leaves an address, which answers once it has left.
 */
function signalled(request: Request): Request {
  const answersOnceLeft = request.headers.get("x-test-answers-once-left");
  if (answersOnceLeft === null) return request;
  const left = new AbortController();
  fetch(answersOnceLeft).then(
    () => left.abort(),
    () => undefined,
  );
  return new Request(request, { signal: left.signal });
}
