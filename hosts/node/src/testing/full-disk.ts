import type { DatabaseSync } from "node:sqlite";
import { sqlName, tableNames } from "@inference/ledger/schema";

/**
 * From now on SQLite fails each commit with SQLITE_FULL, as it does on a full disk: also a table whose automatic ids
 * are used up is "full".
 *
 * @param database Another connection than the one that commits.
 */
export function fillDisk(database: DatabaseSync): { makeRoom(): void } {
  const triggers = tableNames.map((table) => `full_${table}`);
  database.exec(`BEGIN IMMEDIATE;
    CREATE TABLE full_disk (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
    INSERT INTO full_disk (id) VALUES (9223372036854775807);`);
  for (const table of tableNames) {
    database.exec(`CREATE TRIGGER full_${table} BEFORE INSERT ON ${sqlName(table)}
      BEGIN INSERT INTO full_disk (id) VALUES (NULL); END`);
  }
  database.exec("COMMIT");
  return {
    makeRoom() {
      const drops = triggers.map((trigger) => `DROP TRIGGER ${trigger};`).join("");
      database.exec(`BEGIN IMMEDIATE; ${drops} DROP TABLE full_disk; COMMIT`);
    },
  };
}
