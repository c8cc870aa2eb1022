import type {
  DurableObjectNamespace,
  DurableObjectState,
  ExecutionContext,
  KVNamespace,
  SqlStorageCursor,
} from "@cloudflare/workers-types";
import type { Bindings } from "@inference/host-cloudflare/bindings";
import { ChainObject as RealChainObject } from "@inference/host-cloudflare/chain-object";
import { PartitionObject as RealPartitionObject } from "@inference/host-cloudflare/partition-object";
import worker from "@inference/host-cloudflare/worker";
import type { Step } from "@inference/ledger/saga";
import { activity } from "./activity.ts";
import { writeBooks } from "./books-worker.ts";
import { add, type Counts, noCounts } from "./counts.ts";

// The gateway's Worker and objects with their use counted: calls at the calling stub, rows by SQLite's cursors, alarms
// where they ring. On local workerd all share one isolate, and so these counts.

let counts: Counts = noCounts();
/** The kind of object of each id that was named. */
const kinds = new Map<string, string>();
/** How far the clock was set ahead, and when the alarms of objects ring, by the name of the object. */
let aheadMs = 0;
const alarms = new Map<string, number>();
const realNow = Date.now;
Date.now = () => realNow() + aheadMs;
const names = new Map<string, string>();
const active = activity(realNow, (kind, ms) => add(counts.activeMs, kind, ms));

export class PartitionObject extends RealPartitionObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    countStorage(ctx);
    super(ctx, countedBindings(env));
  }

  /** Its alarm rings, as the clock was set ahead. */
  async wake(): Promise<void> {
    await this.alarm();
  }

  override async alarm(): Promise<void> {
    alarms.delete(names.get(this.ctx.id.toString()) ?? "");
    const kind = kinds.get(this.ctx.id.toString()) ?? "other";
    add(counts.objectRequests, `${kind} alarm`, 1);
    const done = active.begin(kind, this.ctx.id.toString());
    await super.alarm().finally(done);
  }
}

export class ChainObject extends RealChainObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, countedBindings(env));
  }
}

export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/__books") {
      await writeBooks(bindings, (await request.json()) as Step[][]);
      return new Response(null, { status: 204 });
    }
    if (pathname === "/__counts") {
      const taken = counts;
      if (request.method === "DELETE") counts = noCounts();
      return Response.json(taken);
    }
    if (pathname === "/__pass") {
      await pass(bindings, Number(await request.text()));
      return new Response(null, { status: 204 });
    }
    counts.workerRequests += 1;
    return worker.fetch(request, countedBindings(bindings), event);
  },
};

/** Lets time pass: the alarms that come due ring, in order. */
async function pass(bindings: Bindings, ms: number): Promise<void> {
  const until = Date.now() + ms;
  for (;;) {
    const [first] = [...alarms].sort(([, one], [, other]) => one - other);
    if (first === undefined || first[1] > until) break;
    const [name, at] = first;
    aheadMs += Math.max(0, at - Date.now());
    alarms.delete(name);
    const object = bindings.PARTITION.getByName(name) as unknown as { wake(): Promise<void> };
    await object.wake();
  }
  aheadMs += Math.max(0, until - Date.now());
}

function countedBindings(bindings: Bindings): Bindings {
  return {
    ...bindings,
    PARTITION: countedNamespace(bindings.PARTITION as never, ["execute", "executeAll", "read"]) as never,
    CHAIN: countedNamespace(bindings.CHAIN as never, ["look"]) as never,
    KEY_VALUE: countedKeyValue(bindings.KEY_VALUE),
  };
}

type Call = (...args: unknown[]) => Promise<unknown>;

function countedNamespace(
  namespace: DurableObjectNamespace,
  methods: readonly string[],
): Pick<DurableObjectNamespace, "idFromName" | "getByName"> {
  return {
    idFromName: (name) => namespace.idFromName(name),
    getByName(name) {
      const object = namespace.getByName(name) as unknown as Record<string, Call>;
      const kind = kindOf(name);
      const id = namespace.idFromName(name).toString();
      kinds.set(id, kind);
      names.set(id, name);
      const call = (method: string): Call =>
        async function counted(...args) {
          const [, what = { type: method }] = args as [string?, ({ type: string } | { type: string }[])?];
          add(counts.objectRequests, `${kind} ${Array.isArray(what) ? "all" : what.type}`, 1);
          const done = active.begin(kind, id);
          return Promise.resolve(object[method]?.(...args)).finally(done);
        };
      return Object.fromEntries(methods.map((method) => [method, call(method)])) as never;
    },
  };
}

/** `account:0x...` is an account, `ceiling` itself. */
function kindOf(partition: string): string {
  return partition.split(":")[0] ?? partition;
}

function countedKeyValue(namespace: KVNamespace): KVNamespace {
  return {
    get: (key: string) => {
      counts.keyValueReads += 1;
      return namespace.get(key);
    },
    put: (key: string, value: string, options?: object) => {
      counts.keyValueWrites += 1;
      return namespace.put(key, value, options);
    },
    delete: (key: string) => {
      counts.keyValueWrites += 1;
      return namespace.delete(key);
    },
  } as KVNamespace;
}

/** Instead of the object's own: every statement is finished before the next one begins. */
function countStorage({ storage, id }: DurableObjectState): void {
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  let last: { table: string; cursor: SqlStorageCursor<never> } | undefined;
  const count = (): void => {
    if (last === undefined) return;
    add(counts.rowsRead, last.table, last.cursor.rowsRead);
    add(counts.rowsWritten, last.table, last.cursor.rowsWritten);
    last = undefined;
  };
  sql.exec = ((statement: string, ...values: never[]) => {
    count();
    const cursor = exec(statement, ...values) as SqlStorageCursor<never>;
    last = { table: /(?:FROM|INTO|UPDATE|TABLE|ON) (\w+)/.exec(statement)?.[1] ?? statement, cursor };
    queueMicrotask(count);
    return cursor;
  }) as never;
  const { setAlarm, get, put } = storage;
  storage.setAlarm = (at) => {
    add(counts.rowsWritten, "alarm", 1);
    alarms.set(names.get(id.toString()) ?? "", Number(at));
    return setAlarm.call(storage, Number(at) - aheadMs);
  };
  // The runtime's own would be of the clock at the time when it was set.
  storage.getAlarm = async () => alarms.get(names.get(id.toString()) ?? "") ?? null;
  storage.get = ((...args: never[]) => {
    add(counts.rowsRead, "key-value", 1);
    return get.apply(storage, args as never);
  }) as never;
  storage.put = ((...args: never[]) => {
    add(counts.rowsWritten, "key-value", 1);
    return put.apply(storage, args as never);
  }) as never;
}
