const WINDOW_MS = 30_000;
const MINUTE_MS = 60_000;
const MAX_BUCKETS = 10_000;

interface Bucket {
  failures: number[];
  lockedUntilMs: number;
}

/** The error budget of each bucket, and the requests per minute of each model. */
export interface RequestLimits {
  lockedUntil(bucket: string): number | null;
  failed(bucket: string, threshold: number): void;
  remaining(bucket: string, threshold: number): number;
  /** Counts a request; false when the model's minute is used up. */
  admit(model: string, perMinute: number): boolean;
  /** What is left of the model's minute. */
  left(model: string, perMinute: number): number;
  reset(): void;
}

export function createRequestLimits(now: () => number): RequestLimits {
  const buckets = new Map<string, Bucket>();
  const minutes = new Map<string, { minute: number; count: number }>();
  const minuteOf = (model: string): { minute: number; count: number } => {
    const minute = Math.floor(now() / MINUTE_MS);
    const known = minutes.get(model);
    return known?.minute === minute ? known : { minute, count: 0 };
  };
  const recent = (bucket: Bucket): number[] => bucket.failures.filter((time) => time > now() - WINDOW_MS);

  return {
    lockedUntil(name) {
      const bucket = buckets.get(name);
      return bucket !== undefined && bucket.lockedUntilMs > now() ? bucket.lockedUntilMs : null;
    },
    failed(name, threshold) {
      const bucket = buckets.get(name) ?? { failures: [], lockedUntilMs: 0 };
      bucket.failures = [...recent(bucket), now()];
      if (bucket.failures.length > threshold) {
        bucket.lockedUntilMs = now() + WINDOW_MS;
        bucket.failures = [];
      }
      buckets.set(name, bucket);
      dropOldest(buckets);
    },
    remaining(name, threshold) {
      const bucket = buckets.get(name);
      return bucket === undefined ? threshold : Math.max(0, threshold - recent(bucket).length);
    },
    admit(model, perMinute) {
      const current = minuteOf(model);
      if (current.count >= perMinute) return false;
      current.count += 1;
      minutes.set(model, current);
      dropOldest(minutes);
      return true;
    },
    left: (model, perMinute) => Math.max(0, perMinute - minuteOf(model).count),
    reset() {
      buckets.clear();
      minutes.clear();
    },
  };
}

function dropOldest(map: Map<string, unknown>): void {
  if (map.size <= MAX_BUCKETS) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
