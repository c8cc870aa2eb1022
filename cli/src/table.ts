/**
 * Lines with columns. A column whose title begins with a space is aligned to the right.
 *
 * @param empty The text for no rows.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length === 0) return empty;
  const width = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const isNumber = titles[column]?.startsWith(" ") === true;
        return isNumber ? cell.padStart(width[column] ?? 0) : cell.padEnd(width[column] ?? 0);
      })
      .join("  ")
      .trimEnd();
  return [line(titles), ...rows.map(line)].join("\n");
}

/** Names and values, one a line. */
export function fields(pairs: readonly (readonly [string, string] | undefined)[]): string {
  const shown = pairs.filter((pair) => pair !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join("\n");
}
