import { isHold, type KeyRow, type ReceiptRow, type Row, type TableName } from "./tables.ts";

const WRITTEN_ONCE: ReadonlySet<TableName> = new Set([
  "use",
  "claim",
  "told",
  "record",
  "chunk",
  "transaction",
  "reconciliation",
]);

/** Whether a request may need a row again. A host does not keep other rows in memory. */
export function staysInMemory(table: TableName, row: Row): boolean {
  if (table === "receipt") return isHold(row as ReceiptRow);
  if (table === "key") return (row as KeyRow).revokedAt === null;
  return !WRITTEN_ONCE.has(table);
}
