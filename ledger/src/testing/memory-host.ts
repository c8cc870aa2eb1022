import { isNanoUsd } from "@inference/protocol/money";
import { apply } from "../messages/apply.ts";
import type { AccountPage, DueTable, ForgettableTable, LapsedHold, LedgerClient } from "../messages/client.ts";
import type { Command, Reply, ReplyOf } from "../messages/commands.ts";
import { outboxChange } from "../messages/delivery.ts";
import type { Partition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import type { Saga } from "../messages/saga.ts";
import { columnsOf, tableNames } from "../rows/schema.ts";
import {
  type Change,
  isHold,
  type OutboxRow,
  type ReadRows,
  type Row,
  type TableName,
  type Tables,
} from "../rows/tables.ts";
import { keyEnd } from "../rules/key.ts";

/**
 * The ledger in memory, with every partition a unit of its own: each command is one commit, each delivery another, and
 * the caller decides what comes next. Nothing lives but the stored columns, so that a crash is a saga not continued.
 * As a `LedgerClient` it runs sagas whole and delivers at once.
 */
export type MemoryHost = LedgerClient & {
  /** One command, one commit. */
  apply<C extends Command>(partition: Partition, command: C): ReplyOf<C>;
  /** A saga to be taken further one commit at a time. */
  begin<T>(saga: Saga<T>): RunningSaga<T>;
  /** The deliveries that are not acknowledged. */
  outbox(): Delivery[];
  deliver(delivery: Delivery, options?: { acknowledge: boolean }): Reply;
  /** Delivers until nothing is left, what the deliveries cause too. */
  deliverAll(): void;
  /** Every row, as text, by its partition, table and id. */
  stored(): [name: string, text: string][];
  /** A copy of all rows of a partition, and such a copy put back. */
  copy(partition: Partition): PartitionCopy;
  putBack(partition: Partition, copy: PartitionCopy): void;
  rows(partition: Partition): ReadRows;
  all<T extends TableName>(table: T): { partition: Partition; row: Tables[T] }[];
  readonly alerts: string[];
};

export type PartitionCopy = Readonly<Record<TableName, ReadonlyMap<string, string>>>;
export type RunningSaga<T> = {
  /** False once the saga is over. */
  step(): boolean;
  readonly result: T | undefined;
};
export type Delivery = { partition: Partition; row: OutboxRow };
export type MemoryHostOptions = {
  now(): number;
  /** 1 without it. */
  epoch?(partition: Partition): number;
  /** May throw, to crash instead of committing. */
  beforeCommit?(partition: Partition, command: Command): void;
};

const columns = Object.fromEntries(tableNames.map((table) => [table, columnsOf(table)])) as Record<
  TableName,
  ReturnType<typeof columnsOf>
>;

export function openMemoryHost(options: MemoryHostOptions): MemoryHost {
  const stored = new Map<Partition, Record<TableName, Map<string, string>>>();
  const alerts: string[] = [];

  function tablesOf(partition: Partition): Record<TableName, Map<string, string>> {
    const known = stored.get(partition);
    if (known !== undefined) return known;
    const fresh = Object.fromEntries(tableNames.map((table) => [table, new Map()])) as Record<
      TableName,
      Map<string, string>
    >;
    stored.set(partition, fresh);
    return fresh;
  }

  function rows(partition: Partition): ReadRows {
    const tables = tablesOf(partition);
    return {
      get: (table, id) => decode(table, id, tables[table].get(id)),
      list: (table, { after = "", limit }) =>
        [...tables[table].keys()]
          .filter((id) => id > after)
          .sort()
          .slice(0, limit)
          .flatMap((id) => decode(table, id, tables[table].get(id)) ?? []),
      newest: (table, { before, limit }) =>
        [...tables[table].keys()]
          .filter((id) => id < before)
          .sort()
          .reverse()
          .slice(0, limit)
          .flatMap((id) => decode(table, id, tables[table].get(id)) ?? []),
      liveKeys: () =>
        [...tables.key]
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .flatMap(([id, text]) => decode("key", id, text) ?? [])
          .filter((key) => key.revokedAt === null),
      holds: () =>
        [...tables.receipt]
          // Most are over, and are not decoded.
          .filter(([, text]) => /"(open|orphaned)"/.test(text))
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .flatMap(([id, text]) => decode("receipt", id, text) ?? [])
          .filter(isHold),
    };
  }

  function write(partition: Partition, changes: readonly Change[]): void {
    const encoded = changes.map(({ table, id, row }) => ({
      table,
      id,
      text: row === null ? null : encode(table, row),
    }));
    for (const { table, id, text } of encoded) {
      if (text === null) tablesOf(partition)[table].delete(id);
      else tablesOf(partition)[table].set(id, text);
    }
  }

  async function due(table: DueTable, at: number, { after, limit }: AccountPage): Promise<Partition[]> {
    const found = host.all(table).filter(({ row }) => row.dueAt !== null && row.dueAt <= at);
    const partitions = [...new Set(found.map(({ partition }) => partition))].sort();
    return partitions.filter((partition) => after === null || partition > after).slice(0, limit);
  }

  const host: MemoryHost = {
    writable: true,
    alerts,
    rows,
    apply(partition, command) {
      const state = { clockMs: options.now(), epoch: options.epoch?.(partition) ?? 1 };
      const outcome = apply(partition, rows(partition), command, state);
      options.beforeCommit?.(partition, command);
      write(partition, [...outcome.changes, ...outcome.deliveries.map(outboxChange)]);
      alerts.push(...outcome.alerts.map((alert) => `${partition}: ${alert}`));
      return outcome.reply;
    },
    begin<T>(saga: Saga<T>): RunningSaga<T> {
      let step: IteratorResult<{ partition: Partition; command: Command }, T> | undefined;
      return {
        get result() {
          return step?.done ? step.value : undefined;
        },
        step() {
          step ??= saga.next();
          if (step.done) return false;
          step = saga.next(host.apply(step.value.partition, step.value.command));
          return !step.done;
        },
      };
    },
    all: (table) =>
      [...stored].flatMap(([partition, tables]) =>
        [...tables[table]].flatMap(([id, text]) => {
          const row = decode(table, id, text);
          return row === undefined ? [] : [{ partition, row }];
        }),
      ),
    outbox: () => host.all("outbox"),
    deliver({ partition, row }, { acknowledge } = { acknowledge: true }) {
      const reply = host.apply(row.target, JSON.parse(row.command) as Command);
      if (acknowledge) host.apply(partition, { type: "acknowledge", id: row.id });
      return reply;
    },
    deliverAll() {
      for (let left = host.outbox(); left.length > 0; left = host.outbox()) {
        for (const delivery of left) host.deliver(delivery);
      }
    },
    stored: () =>
      [...stored].flatMap(([partition, tables]) =>
        tableNames.flatMap((table) =>
          [...tables[table]].map(([id, text]): [string, string] => [`${partition} ${table} ${id}`, text]),
        ),
      ),
    copy: (partition) =>
      Object.fromEntries(
        tableNames.map((table) => [table, new Map(tablesOf(partition)[table])]),
      ) as unknown as PartitionCopy,
    putBack(partition, copy) {
      for (const table of tableNames) tablesOf(partition)[table] = new Map(copy[table]);
    },
    async run<T>(saga: () => Saga<T>): Promise<T> {
      const running = host.begin(saga());
      while (running.step()) host.deliverAll();
      host.deliverAll();
      return running.result as T;
    },
    read: async (partition, query) => answer(rows(partition), query),
    async lapsedHolds(at, limit): Promise<LapsedHold[]> {
      return host
        .all("receipt")
        .filter(({ row }) => isHold(row) && row.leaseUntil < at)
        .map(({ partition, row }) => ({ partition, hold: row }))
        .sort((one, other) => one.hold.leaseUntil - other.hold.leaseUntil)
        .slice(0, limit);
    },
    due,
    async overdue(table, before) {
      const found = host.all(table).filter(({ row }) => (overAt(row) ?? before) < before);
      return { rows: found.map(({ partition, row }) => ({ partition, id: row.id })), next: null };
    },
  };
  return host;
}

function overAt(row: Tables[ForgettableTable]): number | null {
  if ("admittedAt" in row) return row.admittedAt;
  if ("paidAt" in row) return row.paidAt;
  return "unpaidUntil" in row ? keyEnd(row) : row.expiresAt;
}

/** A row as its columns would be stored; throws for what the SQL schema would refuse. */
function encode(table: TableName, row: Row): string {
  const record = row as unknown as Record<string, unknown>;
  if (Object.keys(record).length !== columns[table].length + 1)
    throw new TypeError(`${table}: not its columns: ${Object.keys(record)}`);
  for (const { property, kind } of columns[table]) {
    if (!fits(record[property], kind)) throw new TypeError(`${table}.${property} is not ${kind}: ${record[property]}`);
  }
  return JSON.stringify(columns[table].map(({ property }) => record[property]));
}

function fits(value: unknown, kind: string): boolean {
  if (kind.endsWith("?")) return value === null || fits(value, kind.slice(0, -1));
  if (kind === "amount") return isNanoUsd(value);
  if (kind === "integer") return Number.isSafeInteger(value) && Number(value) >= 0;
  if (kind === "text") return typeof value === "string";
  return kind.slice("one of ".length).split(" ").includes(String(value));
}

function decode<T extends TableName>(table: T, id: string, text: string | undefined): Tables[T] | undefined {
  if (text === undefined) return undefined;
  const values = JSON.parse(text) as unknown[];
  const row: Record<string, unknown> = { id };
  for (const [index, { property }] of columns[table].entries()) row[property] = values[index];
  return row as Tables[T];
}
