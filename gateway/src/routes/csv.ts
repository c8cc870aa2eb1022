import type { ExactNumber } from "../http/money.ts";

export type CsvValue = string | number | boolean | null | ExactNumber;

/** One line of CSV (RFC 4180) with its line end. Null is an empty cell. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: CsvValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.rawJSON : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
