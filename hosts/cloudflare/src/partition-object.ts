import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState, SqlStorage } from "@cloudflare/workers-types";
import { apply, type Outcome } from "@inference/ledger/apply";
import type { Command, Reply } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import type { Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import { createStatements } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { Change, OutboxRow, ReadRows } from "@inference/ledger/tables";
import type { Bindings } from "./bindings.ts";

/**
 * One partition of the ledger: an object with an SQLite of its own. A command reads and writes without waiting in
 * between, so that its writes are one transaction, and the output gate keeps its reply back until they are durable.
 * Deliveries to other partitions go out from the alarm, again and again until they are acknowledged.
 */
export class PartitionObject extends DurableObject<Bindings> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    const tables = this.#sql.exec("SELECT count(*) AS n FROM sqlite_master WHERE name = 'hold_row'").one();
    if (tables.n === 0) ctx.storage.transactionSync(() => this.#createTables());
  }

  /** Applies a command. Repeating one is harmless, so a caller that got no reply may call again. */
  async execute(partition: Partition, command: Command): Promise<Reply> {
    const outcome: Outcome = this.ctx.storage.transactionSync(() => {
      const result = apply(partition, this.#rows(partition), command, Date.now());
      for (const change of result.changes) this.#write(partition, change);
      for (const delivery of result.deliveries) this.#write(partition, outboxChange(delivery));
      return result;
    });
    for (const alert of outcome.alerts) console.error(JSON.stringify({ level: "alert", event: "ledger", alert }));
    if (outcome.deliveries.length > 0) await this.ctx.storage.setAlarm(Date.now());
    return outcome.reply;
  }

  async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
    return answer(this.#rows(partition), query);
  }

  async alarm(): Promise<void> {
    const rows = this.#sql.exec("SELECT * FROM outbox_row ORDER BY id LIMIT 100").toArray();
    try {
      for (const stored of rows) {
        const { id, target, command } = tableSql.outbox.toRow(stored) as OutboxRow;
        const { PARTITION } = this.env;
        const reply = await PARTITION.get(PARTITION.idFromName(target)).execute(target, JSON.parse(command) as Command);
        if ("status" in reply && reply.status === "too_much") continue;
        await this.execute(String(stored.partition), { type: "acknowledge", id });
      }
    } finally {
      // Whatever happened, what is left is tried again: an alarm that fails too often is given up by the runtime.
      const left = this.#sql.exec("SELECT count(*) AS n FROM outbox_row").one().n;
      if (left !== 0) await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  #createTables(): void {
    for (const statement of createStatements()) this.#sql.exec(statement);
  }

  #rows(partition: Partition): ReadRows {
    return {
      get: (table, id) => {
        const stored = this.#sql.exec(tableSql[table].select, partition, id).toArray()[0];
        return (stored === undefined ? undefined : tableSql[table].toRow(stored)) as never;
      },
      list: (table, { after = "", limit }) =>
        this.#sql
          .exec(tableSql[table].list, partition, after, limit)
          .toArray()
          .map((stored) => tableSql[table].toRow(stored)) as never,
    };
  }

  #write(partition: Partition, { table, id, row }: Change): void {
    if (row === null) this.#sql.exec(tableSql[table].remove, partition, id);
    else this.#sql.exec(tableSql[table].upsert, ...tableSql[table].toColumns(partition, row));
  }
}

const RETRY_MS = 2_000;
