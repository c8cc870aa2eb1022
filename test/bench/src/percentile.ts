/** The nearest-rank percentile: the smallest sample that at least `percent` of all samples do not exceed. */
export function percentile(ascending: ArrayLike<number>, percent: number): number {
  if (!(percent > 0 && percent <= 100)) throw new RangeError(`percent out of range: ${percent}`);
  const rank = Math.ceil((percent / 100) * ascending.length);
  return ascending[rank - 1] ?? Number.NaN;
}

/** The middle sample, or the mean of the two in the middle; NaN of none. */
export function median(samples: readonly number[]): number {
  const ascending = samples.toSorted((a, b) => a - b);
  const half = ascending.length / 2;
  const upper = ascending[Math.floor(half)] ?? Number.NaN;
  if (ascending.length % 2 === 1) return upper;
  return (upper + (ascending[half - 1] ?? Number.NaN)) / 2;
}

export interface Samples {
  add(value: number): void;
  /** All samples, ascending. */
  sorted(): Float64Array;
}

/** Keeps every sample, so percentiles are exact. */
export function samples(): Samples {
  let values = new Float64Array(4096);
  let length = 0;
  return {
    add(value) {
      if (length === values.length) {
        const larger = new Float64Array(length * 2);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    sorted: () => values.slice(0, length).sort(),
  };
}
