/** A series of a chart, with its sum over all bars. The last may be `other`. */
type Series = { name: string; nanoUsd: number };
/** A bar: its parts in the order of the series. */
export type Bar = { id: string; label: string; title: string; nanoUsd: number; parts: number[] };
/** The figures of one chart: the sums of the series, and of the bars, are the total. */
export type Stack = { bars: Bar[]; series: Series[]; nanoUsd: number };

/** A row that counts for one bar and one name. */
export type StackRow = { bar: string; name: string; nanoUsd: number };

const MOST_SERIES = 5;
const OTHER = "other";

/**
 * Adds up rows. The five largest names are series, in this order, and the rest is `other`. A row whose bar is not in
 * `bars` throws: it would be missing in the sums.
 */
export function stackOf(rows: readonly StackRow[], bars: readonly Pick<Bar, "id" | "label" | "title">[]): Stack {
  const sums = new Map<string, number>();
  for (const { name, nanoUsd } of rows) sums.set(name, (sums.get(name) ?? 0) + nanoUsd);
  const ordered = [...sums].toSorted(
    ([oneName, one], [otherName, other]) => other - one || (oneName < otherName ? -1 : 1),
  );
  const series = ordered.slice(0, MOST_SERIES).map(([name, nanoUsd]): Series => ({ name, nanoUsd }));
  const rest = ordered.slice(MOST_SERIES);
  if (rest.length > 0) series.push({ name: OTHER, nanoUsd: rest.reduce((sum, [, nanoUsd]) => sum + nanoUsd, 0) });
  const indexOf = new Map(series.slice(0, MOST_SERIES).map(({ name }, index) => [name, index]));
  const stacked = new Map(
    bars.map(({ id, label, title }): [string, Bar] => [
      id,
      { id, label, title, nanoUsd: 0, parts: series.map(() => 0) },
    ]),
  );
  for (const { bar: id, name, nanoUsd } of rows) {
    const bar = stacked.get(id);
    if (bar === undefined) throw new Error(`The spending of ${id} is outside the range.`);
    const index = indexOf.get(name) ?? MOST_SERIES;
    bar.parts[index] = (bar.parts[index] ?? 0) + nanoUsd;
    bar.nanoUsd += nanoUsd;
  }
  return { bars: [...stacked.values()], series, nanoUsd: rows.reduce((sum, row) => sum + row.nanoUsd, 0) };
}

/** The class of a series' colour. */
export function colorOf(index: number, { name }: Series): string {
  return name === OTHER && index === MOST_SERIES ? "series-other" : `series${index + 1}`;
}

/** The ticks of an axis from 0 on: 3 to 6, at 1, 2, 2.5 or 5 times a power of ten, with the top above the largest. */
export function ticksOf(mostNanoUsd: number): number[] {
  const most = Math.max(mostNanoUsd, 1);
  for (let power = 1; ; power *= 10) {
    for (const factor of power < 10 ? [1, 2, 5] : [1, 2, 2.5, 5]) {
      const step = factor * power;
      const count = Math.ceil(most / step);
      if (count <= 4) return Array.from({ length: Math.max(2, count) + 1 }, (_, index) => index * step);
    }
  }
}
