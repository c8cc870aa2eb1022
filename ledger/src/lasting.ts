import { isUnresolved } from "./hold-row.ts";
import type { HoldRow, KeyRow, Row, TableName } from "./tables.ts";

const WRITTEN_ONCE: ReadonlySet<TableName> = new Set([
  "receipt",
  "use",
  "credit",
  "claim",
  "batch",
  "transaction",
  "posted",
  "onchain",
  "debit",
  "reconciliation",
]);

/** Whether a request may need a row again. A host does not keep other rows in memory. */
export function staysInMemory(table: TableName, row: Row): boolean {
  if (table === "hold") return isUnresolved(row as HoldRow);
  if (table === "key") return (row as KeyRow).revokedAt === null;
  return !WRITTEN_ONCE.has(table);
}
