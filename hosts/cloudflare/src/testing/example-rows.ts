import { columnsOf } from "@inference/ledger/schema";
import type { Row, TableName } from "@inference/ledger/tables";

/** A row that its table takes. The same seed makes the same row; of rows in the order of time, the id is the time. */
export function exampleRow(table: TableName, id: string, seed: number): Row {
  const values = columnsOf(table).map(({ property, kind }, index) => {
    const base = kind.replace("?", "");
    if (property === "admittedAt") return [property, Number(/\d+/.exec(id)?.[0] ?? 0) * 7];
    if (kind.endsWith("?") && (seed + index) % 3 === 0) return [property, null];
    if (base === "amount" || base === "integer") return [property, (seed * (index + 1)) % 61];
    const words = base.startsWith("one of ") ? base.slice("one of ".length).split(" ") : [];
    return [property, words[seed % words.length] ?? `${property} ${"x".repeat((seed % 5) * 20)}`];
  });
  return { id, ...Object.fromEntries(values) } as Row;
}
