import { isUnresolved } from "./hold.ts";
import type { HoldRow, KeyRow, Row, TableName } from "./tables.ts";

/** Whether a request may need a row again: what is written once does not stay in a host's memory. */
export function staysInMemory(table: TableName, row: Row): boolean {
  if (table === "hold") return isUnresolved(row as HoldRow);
  if (table === "key") return (row as KeyRow).revokedAt === null;
  return table !== "receipt" && table !== "use" && table !== "credit" && table !== "claim";
}
