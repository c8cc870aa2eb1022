import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { emptyLimit, tellAgain } from "@inference/gateway/jobs/tell-again";
import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition, chainPartition, isAgent, type Partition, restorable } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { columnsOf, SCHEMA_VERSION, sqlName, tableNames } from "@inference/ledger/schema";
import { fileOf, openDatabase } from "./database.ts";
import { openNodeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";

/**
 * `npm run gateway -- restore PARTITION [BACKUP]`, while the gateway is stopped: takes the rows of an account or
 * identity from a backup. `ceiling` and an agent's sales are never taken from one: the accounts tell them again.
 * `chain` makes the next start read the chain from its first block.
 */
export async function restorePartition(
  settings: NodeSettings,
  name: string,
  backup?: string,
): Promise<{ partition: Partition }> {
  const chain = chainPartition(settings.PRIMARY_CHAIN_ID);
  const copied = restorable(name);
  const partition = copied ?? (name === "chain" ? chain : name);
  const isCopied = copied !== undefined;
  if (!isCopied && partition !== ceilingPartition && partition !== chain) {
    throw new Error(`There is no partition ${name}: name account:<address>, identity:<address>, ceiling or chain.`);
  }
  if (isCopied !== (backup !== undefined)) {
    throw new Error(isCopied ? `Name the backup that has ${name}.` : `${name} is never restored from a backup.`);
  }
  const database = openDatabase(fileOf(settings.DATABASE_FILE), settings.DATABASE_SYNCHRONOUS);
  try {
    if (backup !== undefined) {
      copyRows(database, partition, backup);
      const release = { type: "releaseHolds", at: Date.now() } as const;
      await withLedger(database, async (ledger) => void (await ledger.run(() => send(partition, release))));
    }
    if (partition === ceilingPartition || isAgent(partition) || partition === chain) {
      await withLedger(database, (ledger) =>
        partition === chain ? reread(ledger, chain) : refill(ledger, { chain, limit: partition }),
      );
    }
  } finally {
    database.close();
  }
  return { partition };
}

/** In one transaction. */
function copyRows(database: DatabaseSync, partition: Partition, backup: string): void {
  if (!existsSync(backup)) throw new Error(`There is no backup ${backup}.`);
  database.prepare("ATTACH ? AS backup").run(backup);
  const stored = Number(database.prepare("PRAGMA backup.user_version").get()?.user_version);
  if (stored !== SCHEMA_VERSION) {
    throw new Error(
      `${backup} has schema ${stored}, and this gateway wants ${SCHEMA_VERSION}. Use the release that wrote it.`,
    );
  }
  const storedColumns = database.prepare("SELECT name FROM pragma_table_info(?, 'backup')");
  database.exec("BEGIN IMMEDIATE");
  let rows = 0;
  for (const table of tableNames) {
    const name = sqlName(table);
    const stored = new Set(storedColumns.all(name).map((column) => column.name));
    // A backup of an earlier release lacks nullable columns.
    const own = columnsOf(table).filter(({ column }) => stored.has(column));
    const columns = ["partition", "id", ...own.map(({ column }) => column)].join(", ");
    database.prepare(`DELETE FROM main.${name} WHERE partition = ?`).run(partition);
    const copy = `INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM backup.${name} WHERE partition = ?`;
    rows += Number(database.prepare(copy).run(partition).changes);
  }
  // Nothing is kept of a transaction that is open when the database is closed.
  if (rows === 0) throw new Error(`${backup} has nothing of ${partition}. Nothing was changed.`);
  database.exec("COMMIT");
}

async function withLedger(database: DatabaseSync, work: (ledger: LedgerClient) => Promise<void>): Promise<void> {
  const ledger = openNodeLedger(database, {
    ...{ now: Date.now, epoch: Date.now() },
    onAlert: (message) => log("alert", "ledger", { message }),
    onFatal: (error) => log("alert", "ledger_stopped", { error: String(error) }),
  });
  try {
    await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** The next start names the block that accounts wait for. */
async function reread(ledger: LedgerClient, chain: Partition): Promise<void> {
  const cursor = await ledger.read(chain, { type: "cursor" });
  // A reading is later than the last one, also if the clock was set back.
  const at = Math.max(Date.now(), (cursor?.replay ?? 0) + 1);
  await ledger.run(() => send(chain, { type: "reread", at, readyFrom: 0 }));
}

async function refill(ledger: LedgerClient, parts: { chain: Partition; limit: Partition }): Promise<void> {
  const host = { ledger, clock: { now: Date.now } };
  // An agent's rows are an old copy by now: if `tellAgain` throws, the agent sells nothing until a later restore.
  if (isAgent(parts.limit)) await emptyLimit(host, parts.limit);
  let after: string | null = null;
  do after = await tellAgain(host, { ...parts, after });
  while (after !== null);
}
