import { DatabaseSync } from "node:sqlite";

/** One SQLite file: the amounts spent, the last block read of each chain, the open items, and the relay's payments. */
export function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec(`
    CREATE TABLE IF NOT EXISTS spent (
      day INTEGER, chain_id INTEGER, wei TEXT NOT NULL, PRIMARY KEY (day, chain_id)
    );
    CREATE TABLE IF NOT EXISTS relay_spent (
      day INTEGER, chain_id INTEGER, wei TEXT NOT NULL, PRIMARY KEY (day, chain_id)
    );
    CREATE TABLE IF NOT EXISTS pull_spent (
      day INTEGER, chain_id INTEGER, wei TEXT NOT NULL, PRIMARY KEY (day, chain_id)
    );
    CREATE TABLE IF NOT EXISTS cursor (
      chain_id INTEGER PRIMARY KEY, sources TEXT NOT NULL, block INTEGER NOT NULL, block_hash TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS open_item (
      chain_id INTEGER, kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (chain_id, kind, key)
    );
  `);
  return database;
}
