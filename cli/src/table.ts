import { styled, widthOf, wrapped } from "./layout.ts";
import { onOneLine } from "./printable.ts";

/** The least width of the last column in a table that is too wide. Below it each row becomes a block of lines. */
const LEAST_LAST_COLUMN = 14;

/**
 * Lines with columns. A column whose title begins with a space is aligned to the right. If they are wider than the
 * terminal, the last column is wrapped, or each row becomes a block of names and values. Empty columns are left out.
 *
 * @param empty The text for no rows.
 */
export function table(
  names: readonly string[],
  texts: readonly (readonly string[])[],
  { empty, columns }: { empty: string; columns: number },
): string {
  if (texts.length === 0) return empty;
  const isUsed = (_: string, column: number): boolean => texts.some((row) => row[column] !== "");
  const titles = names.filter(isUsed);
  const rows = texts.map((row) => row.filter(isUsed).map(onOneLine));
  const width = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => widthOf(row[column] ?? ""))));
  const last = titles.length - 1;
  const before = width.slice(0, last).reduce((sum, each) => sum + each + 2, 0);
  const isWide = before + (width[last] ?? 0) > columns;
  if (isWide && (columns - before < LEAST_LAST_COLUMN || titles[last]?.startsWith(" ") === true)) {
    const block = (row: readonly string[]): string =>
      fields(titles.map((title, at) => [title.trim(), at === 0 ? styled("bold", row[at] ?? "") : (row[at] ?? "")]));
    return rows.map(block).join("\n\n");
  }
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const space = " ".repeat(Math.max(0, (width[column] ?? 0) - widthOf(cell)));
        if (titles[column]?.startsWith(" ") === true) return space + cell;
        if (column !== last || !isWide) return cell + space;
        return wrapped(cell, columns - before).replaceAll("\n", `\n${" ".repeat(before)}`);
      })
      .join("  ")
      .trimEnd();
  return [styled("bold", line(titles)), ...rows.map(line)].join("\n");
}

/** Names and values, one a line. Those without a value are left out. */
export function fields(pairs: readonly (readonly [string, string] | undefined)[]): string {
  const shown = pairs.filter((pair) => pair !== undefined).filter(([, value]) => value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${onOneLine(value)}`.trimEnd()).join("\n");
}
