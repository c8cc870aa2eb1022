import { apply } from "@inference/ledger/apply";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import type { OutboxRow, ReadRows, Row } from "@inference/ledger/tables";

/** A ledger in memory, as a host would run it: what a command changes is there at once, deliveries follow. */
export type MemoryLedger = LedgerClient & {
  /** While true: commands take effect, deliveries stay behind, and the caller hears of a failure. As in a crash. */
  crashing: boolean;
  /** Delivers what a crash has left. */
  recover(): void;
  /** Every command that was applied. */
  applied: Command[];
  alerts: string[];
};

export function openMemoryLedger(now: () => number = Date.now): MemoryLedger {
  const partitions = new Map<Partition, Map<string, Row>>();
  const applied: Command[] = [];
  const alerts: string[] = [];

  function rowsOf(partition: Partition): Map<string, Row> {
    const rows = partitions.get(partition) ?? new Map<string, Row>();
    partitions.set(partition, rows);
    return rows;
  }

  function view(partition: Partition): ReadRows {
    const rows = rowsOf(partition);
    return {
      get: (table, id) => rows.get(`${table} ${id}`) as never,
      list: (table, { after = "", limit }) =>
        [...rows.keys()]
          .filter((key) => key.startsWith(`${table} `) && key > `${table} ${after}`)
          .sort()
          .slice(0, limit)
          .map((key) => rows.get(key) as never),
    };
  }

  function execute(partition: Partition, command: Command): Reply {
    applied.push(command);
    const outcome = apply(partition, view(partition), command, now());
    for (const { table, id, row } of outcome.changes) {
      if (row === null) rowsOf(partition).delete(`${table} ${id}`);
      else rowsOf(partition).set(`${table} ${id}`, row);
    }
    alerts.push(...outcome.alerts);
    if (!ledger.crashing) deliver(partition);
    return outcome.reply;
  }

  function deliver(partition: Partition): void {
    const waiting = [...rowsOf(partition)]
      .filter(([key]) => key.startsWith("outbox "))
      .map(([, row]) => row as OutboxRow);
    for (const { id, target, command } of waiting) {
      execute(target, JSON.parse(command) as Command);
      rowsOf(partition).delete(`outbox ${id}`);
    }
  }

  const ledger: MemoryLedger = {
    crashing: false,
    applied,
    alerts,
    async run(saga) {
      const steps = saga();
      let step = steps.next();
      while (!step.done) step = steps.next(execute(step.value.partition, step.value.command));
      if (ledger.crashing) throw new LedgerUnavailable("crashed");
      return step.value;
    },
    read: async (partition, query) => answer(view(partition), query),
    lapsedHolds: async () => [],
    recover() {
      ledger.crashing = false;
      for (const partition of [...partitions.keys()]) deliver(partition);
    },
  };
  return ledger;
}
