import type { DurableObjectState, ExecutionContext, KVNamespace } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import { tableNames } from "@inference/ledger/schema";
import type { Row } from "@inference/ledger/tables";
import type { Bindings } from "../bindings.ts";
import { makeEdgeLedger } from "../ledger.ts";
import { type OwnRows, openOwnRows } from "../own-rows.ts";
import { PartitionObject as RealPartitionObject } from "../partition-object.ts";
import type { Asked, Storage, StoredRows } from "./clocked-objects.ts";

export { ChainObject } from "../chain-object.ts";

/** The time of everything here is what its tests say. */
let now = 0;
Date.now = () => now;

/** So that logs are full all the time, by their slots or by their characters. */
const bounds = { slots: 3, characters: 3_000 };

/** The real object. Its alarm is set as usual and rings only on command, and its deliveries wait for that. */
export class PartitionObject extends RealPartitionObject {
  /** What the object goes on with after its answers. */
  readonly #begun: Promise<unknown>[] = [];

  constructor(ctx: DurableObjectState, env: Bindings) {
    const waitUntil = ctx.waitUntil.bind(ctx);
    ctx.waitUntil = (work) => {
      this.#begun.push(work);
      waitUntil(work);
    };
    super(ctx, { ...env, KEY_VALUE: withUnread(env.KEY_VALUE) }, bounds);
  }

  override async alarm(): Promise<void> {}

  protected override deliverSoon = (): void => {};

  /** Like the runtime, it clears the alarm before it rings. */
  async ring(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await super.alarm();
  }

  async ask(partition: Partition): Promise<void> {
    const query = { type: "balance", at: now } as const;
    await Promise.all([this.read(partition, query), this.read(partition, query)]);
    await Promise.all(this.#begun.splice(0));
  }

  /** The alarm rings while the object does what a question began. */
  async askAndRing(partition: Partition): Promise<void> {
    await Promise.all([this.ask(partition), super.alarm()]);
  }

  async looks(): Promise<number> {
    return looks;
  }

  /** As another object would find them in the storage. */
  async rows(partition: Partition): Promise<StoredRows> {
    const stored = allRows(openOwnRows(this.ctx.storage, bounds), partition);
    const own = allRows(this.ownRows, partition);
    // Deliveries alone may be acknowledged and still be there.
    if (JSON.stringify({ ...own, outbox: [] }) !== JSON.stringify({ ...stored, outbox: [] })) {
      throw new Error(`in memory ${JSON.stringify(own)}, stored ${JSON.stringify(stored)}`);
    }
    return stored;
  }

  async storage(): Promise<Storage> {
    const { sql } = this.ctx.storage;
    const tables = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'").toArray();
    const count = (name: unknown) => Number(sql.exec(`SELECT count(*) AS rows FROM ${name}`).one().rows);
    return { bytes: sql.databaseSize, rows: Object.fromEntries(tables.map(({ name }) => [name, count(name)])) };
  }

  async alarmAt(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  /** All of it that is not stored is lost. */
  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }

  async erase(): Promise<void> {
    await this.ctx.storage.deleteAll();
    await this.ctx.storage.deleteAlarm();
    this.ctx.abort("erased");
  }
}

const MOST_ROWS = 10_000;
/** How often the prices `unread` were read. */
let looks = 0;

/** The store, which fails to read the prices `unread`. */
function withUnread(store: KVNamespace): KVNamespace {
  async function get(key: string): Promise<string | null> {
    const text = await store.get(key);
    if (key === "price-list:unread") {
      looks += 1;
      throw new Error("not now");
    }
    return text;
  }
  const put = (key: string, value: string) => store.put(key, value);
  return { get, put } as KVNamespace;
}

function allRows(rows: OwnRows, partition: Partition): StoredRows {
  const own = rows.of(partition);
  // Properties in one order, so that rows can be compared as text.
  const sorted = (row: Row) => Object.fromEntries(Object.entries(row).sort());
  const listed = tableNames.map((table) => [table, own.list(table, { limit: MOST_ROWS }).map(sorted)]);
  return Object.fromEntries(listed) as StoredRows;
}

/** The prices of the holds: with unknown prices, no record of an answer would count. */
const data = [{ id: "m", type: "text", pricing: { prompt: "0.000001", completion: "0.000001" } }];
let kept: Promise<void> | undefined;

export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    kept ??= bindings.KEY_VALUE.put("price-list:kept", JSON.stringify({ data }));
    await kept;
    const asked = (await request.json()) as Asked;
    now = asked.at;
    const objectOf = (partition: Partition) => bindings.PARTITION.getByName(partition) as unknown as PartitionObject;
    if ("call" in asked) {
      // Those that end themselves do not answer.
      const answers = await Promise.allSettled(
        asked.partitions.map((partition) => objectOf(partition)[asked.call](partition)),
      );
      return Response.json(answers.map((answer) => (answer.status === "fulfilled" ? (answer.value ?? null) : null)));
    }
    const { partition, command } = asked;
    const background = (work: Promise<unknown>) => event.waitUntil(work);
    // Not `execute`, which asks the ceiling's object too: the tests send each command of a saga by themselves.
    const [outcome] = await makeEdgeLedger(bindings, { background }).executeAll(partition, [command]);
    if (outcome === undefined || "failed" in outcome) throw new Error(outcome?.failed ?? "no reply");
    return Response.json({ reply: outcome, rows: await objectOf(partition).rows(partition) });
  },
};
