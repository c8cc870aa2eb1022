import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { LedgerTarget } from "./ledger-target.ts";

// The yardstick of the ledger, as the bare proxy is the gateway's: the rows that a pair must at least write, in one
// group commit a turn of the loop, and no rules at all. What SQLite and this disk cost.

const row = JSON.stringify({ settledNanoUsd: 1_234_567, heldNanoUsd: 7_654_321, windowStart: "2026-01-01T00:00:00Z" });

export const sqlite: LedgerTarget = {
  name: "SQLite alone",
  ours: false,
  async open({ directory, accounts, pastUses, synchronous }) {
    const database = new DatabaseSync(join(directory, "bare.sqlite"));
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${synchronous};
      PRAGMA locking_mode = EXCLUSIVE;
      CREATE TABLE budgets (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
      CREATE TABLE holds (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
      CREATE TABLE uses (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
    `);
    const budget = database.prepare(
      "INSERT INTO budgets VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
    );
    const hold = database.prepare("INSERT INTO holds VALUES (?, ?, ?)");
    const resolved = database.prepare("DELETE FROM holds WHERE id = ?");
    const use = database.prepare("INSERT INTO uses VALUES (?, ?, ?)");
    const ceiling = -1;

    database.exec("BEGIN");
    for (let account = 0; account < accounts; account += 1) budget.run(account, row);
    for (let past = 0; past < pastUses; past += 1) use.run(past, past % accounts, row);
    database.exec("COMMIT");

    const commit = groupCommit(database);
    let nextId = pastUses;
    return {
      async pair(account) {
        const id = nextId;
        nextId += 1;
        await commit([
          [budget, account, row],
          [budget, ceiling, row],
          [hold, id, account, row],
        ]);
        await commit([
          [budget, account, row],
          [budget, ceiling, row],
          [resolved, id],
          [use, id, account, row],
        ]);
      },
      close: async () => database.close(),
    };
  },
};

type Write = [StatementSync, ...(number | string)[]];

function groupCommit(database: DatabaseSync): (writes: readonly Write[]) => Promise<void> {
  let group: { writes: readonly Write[]; resolve: () => void }[] = [];
  const begin = database.prepare("BEGIN");
  const end = database.prepare("COMMIT");

  // A failed commit throws out of here and ends the process, as it should in a benchmark.
  function flush(): void {
    const committed = group;
    group = [];
    begin.run();
    for (const { writes } of committed) for (const [statement, ...values] of writes) statement.run(...values);
    end.run();
    for (const { resolve } of committed) resolve();
  }

  return (writes) =>
    new Promise((resolve) => {
      if (group.length === 0) setImmediate(flush);
      group.push({ writes, resolve });
    });
}
