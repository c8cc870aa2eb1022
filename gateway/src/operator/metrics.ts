import type { ErrorCode } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";

/**
 * The counters of this process, from its start. Counting only adds to existing numbers: names and texts are made when
 * the metrics are read. They contain endpoints, codes and outcomes, and no account, key, address or prompt.
 */
export type Metrics = {
  /** A request was answered, or its stream began, so long after the request arrived. */
  answered(route: RouteMetrics, status: number, ms: number): void;
  refused(code: ErrorCode): void;
  /** A request's hold is durable, so long after the request arrived. */
  admitted(ms: number): void;
  /** The end of an admitted request is durable, so long after its admission. */
  ended(ending: Ended, ms: number): void;
  /** The sweeper ended a request's hold, durably. */
  swept(end: Omit<Ended, "outcome" | "basis">): void;
  /** The provider answered, so long after the request was sent. */
  upstreamAnswered(status: number, ms: number): void;
  upstreamFailed(stage: string): void;
  logged(level: "warn" | "alert", event: string): void;
  /** Creates the counters of one path. */
  route(name: string): RouteMetrics;
  readonly counts: Readonly<Counts>;
};

/** How a request ended, as `Conclusion` says. */
export type Ended = {
  outcome: "settle" | "release";
  basis: string;
  chargeNanoUsd: NanoUsd;
  lossNanoUsd: NanoUsd;
  /** An agent served it under its offer. */
  byAgent: boolean;
};

export type RouteMetrics = { name: string; statuses: Map<number, number>; duration: Histogram };

/** Times in ms: a count for each of `boundsMs`, and one for longer times. */
export type Histogram = { counts: number[]; sumMs: number };

export type Counts = ReturnType<typeof makeCounts>;

export const boundsMs = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

export function makeMetrics(): Metrics {
  const counts = makeCounts();
  function addUp({ chargeNanoUsd, lossNanoUsd, byAgent }: Omit<Ended, "outcome" | "basis">): void {
    counts.chargedNanoUsd += chargeNanoUsd;
    counts.lostNanoUsd += lossNanoUsd;
    if (!byAgent || chargeNanoUsd === 0) return;
    counts.sold += 1;
    counts.soldNanoUsd += chargeNanoUsd;
  }

  return {
    counts,
    answered({ statuses, duration }, status, ms) {
      count(statuses, status);
      observe(duration, ms);
    },
    refused: (code) => count(counts.refusals, code),
    admitted: (ms) => observe(counts.admission, ms),
    ended(ended, ms) {
      count(within(counts.endings, ended.outcome), ended.basis);
      observe(counts.exchange, ms);
      addUp(ended);
    },
    swept: addUp,
    upstreamAnswered(status, ms) {
      count(counts.upstreamStatuses, status);
      observe(counts.upstream, ms);
    },
    upstreamFailed: (stage) => count(counts.upstreamFailures, stage),
    logged: (level, event) => count(within(counts.logs, level), event),
    route(name) {
      const route: RouteMetrics = { name, statuses: new Map(), duration: makeHistogram() };
      counts.routes.push(route);
      return route;
    },
  };
}

function makeCounts() {
  return {
    routes: [] as RouteMetrics[],
    refusals: new Map<string, number>(),
    admission: makeHistogram(),
    /** By outcome and basis. */
    endings: new Map<string, Map<string, number>>(),
    exchange: makeHistogram(),
    chargedNanoUsd: 0,
    lostNanoUsd: 0,
    /** Requests that agents served, and the sum of their charges. */
    sold: 0,
    soldNanoUsd: 0,
    upstreamStatuses: new Map<number, number>(),
    upstreamFailures: new Map<string, number>(),
    upstream: makeHistogram(),
    /** By level and event. */
    logs: new Map<string, Map<string, number>>(),
  };
}

function makeHistogram(): Histogram {
  return { counts: new Array<number>(boundsMs.length + 1).fill(0), sumMs: 0 };
}

function observe(histogram: Histogram, ms: number): void {
  // A clock that went back measured nothing.
  const took = Math.max(0, ms);
  let bucket = 0;
  while (took > (boundsMs[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
  histogram.sumMs += took;
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function within<K>(counts: Map<string, Map<K, number>>, name: string): Map<K, number> {
  let inner = counts.get(name);
  if (inner === undefined) {
    inner = new Map();
    counts.set(name, inner);
  }
  return inner;
}
