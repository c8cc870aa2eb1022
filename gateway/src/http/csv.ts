import type { ExactNumber } from "./money.ts";

export type CsvValue = string | number | boolean | null | ExactNumber;

/** Rows as CSV (RFC 4180), under the names of their columns. What is not known is empty. */
export function csv(columns: readonly string[], rows: readonly Readonly<Record<string, CsvValue>>[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value: CsvValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.rawJSON : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
