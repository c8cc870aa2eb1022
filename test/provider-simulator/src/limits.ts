const WINDOW_MS = 30_000;
const MINUTE_MS = 60_000;
const MAX_BUCKETS = 10_000;

interface Bucket {
  failures: number[];
  lockedUntilMs: number;
}

/** The error budget of each bucket, and the requests per minute of each model. */
export interface RequestLimits {
  isLocked(bucket: string): boolean;
  failed(bucket: string, threshold: number): void;
  remaining(bucket: string, threshold: number): number;
  /** Counts a request; false when the model's minute is used up. */
  admit(model: string, perMinute: number): boolean;
  /** Requests left in the model's minute. */
  left(model: string, perMinute: number): number;
  reset(): void;
}

export function createRequestLimits(now: () => number): RequestLimits {
  const buckets = new Map<string, Bucket>();
  let minute = { number: 0, counts: new Map<string, number>() };
  const counts = (): Map<string, number> => {
    const number = Math.floor(now() / MINUTE_MS);
    if (number !== minute.number) minute = { number, counts: new Map() };
    return minute.counts;
  };
  const recent = (bucket: Bucket): number[] => bucket.failures.filter((time) => time > now() - WINDOW_MS);
  const left = (model: string, perMinute: number): number => Math.max(0, perMinute - (counts().get(model) ?? 0));

  return {
    isLocked: (name) => (buckets.get(name)?.lockedUntilMs ?? 0) > now(),
    failed(name, threshold) {
      const bucket = buckets.get(name) ?? { failures: [], lockedUntilMs: 0 };
      bucket.failures = [...recent(bucket), now()];
      if (bucket.failures.length > threshold) {
        bucket.lockedUntilMs = now() + WINDOW_MS;
        bucket.failures = [];
      }
      if (buckets.set(name, bucket).size > MAX_BUCKETS) buckets.delete([...buckets.keys()][0] ?? "");
    },
    remaining(name, threshold) {
      const bucket = buckets.get(name);
      return bucket === undefined ? threshold : Math.max(0, threshold - recent(bucket).length);
    },
    admit(model, perMinute) {
      if (left(model, perMinute) === 0) return false;
      counts().set(model, (counts().get(model) ?? 0) + 1);
      return true;
    },
    left,
    reset() {
      buckets.clear();
      minute = { number: 0, counts: new Map() };
    },
  };
}
