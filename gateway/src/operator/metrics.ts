import type { ErrorCode } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { ProviderCosts } from "./provider-costs.ts";

/**
 * The counters of this process, from its start. Counting only adds to existing numbers: names and texts are made when
 * the metrics are read. They contain endpoints, codes and outcomes, and no account, key, address or prompt.
 */
type Metrics = {
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
type Histogram = { counts: number[]; sumMs: number };

export type Counts = {
  routes: RouteMetrics[];
  refusals: Map<string, number>;
  admission: Histogram;
  /** By outcome and basis. */
  endings: Map<string, Map<string, number>>;
  exchange: Histogram;
  chargedNanoUsd: number;
  lostNanoUsd: number;
  /** Requests that agents served, and the sum of their charges. */
  sold: number;
  soldNanoUsd: number;
  upstreamStatuses: Map<number, number>;
  upstreamFailures: Map<string, number>;
  upstream: Histogram;
  /** By level and event. */
  logs: Map<string, Map<string, number>>;
};

const boundsMs = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

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

function makeCounts(): Counts {
  return {
    routes: [],
    refusals: new Map(),
    admission: makeHistogram(),
    endings: new Map(),
    exchange: makeHistogram(),
    chargedNanoUsd: 0,
    lostNanoUsd: 0,
    sold: 0,
    soldNanoUsd: 0,
    upstreamStatuses: new Map(),
    upstreamFailures: new Map(),
    upstream: makeHistogram(),
    logs: new Map(),
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

/** The gauges, measured at each request for /metrics. Null: unknown now, the metric has no sample then. */
export type Gauge = { name: string; help: string; value: number | boolean | null; labels?: Labels };

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [Labels, number];

/** Prometheus' text format, version 0.0.4. Amounts are integers in nano-dollars, times are in seconds. */
export function exposition(
  counts: Readonly<Counts>,
  gauges: readonly Gauge[],
  costs: ProviderCosts["byModel"],
): string {
  const text: string[] = [];
  const family = (name: string, type: string, help: string, lines: readonly string[]): void => {
    text.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`, ...lines);
  };
  const counter = (name: string, help: string, samples: readonly Sample[]): void =>
    family(
      name,
      "counter",
      help,
      samples.map(([labels, value]) => line(name, labels, value)),
    );
  const times = (name: string, help: string, all: readonly (readonly [Labels, Histogram])[]): void =>
    family(
      name,
      "histogram",
      help,
      all.flatMap(([labels, histogram]) => histogramLines(name, labels, histogram)),
    );

  const used = counts.routes.filter(({ statuses }) => statuses.size > 0);
  counter(
    "requests_total",
    "Requests answered, by route and status.",
    used.flatMap(({ name, statuses }) => by(statuses, (status) => ({ route: name, status }))),
  );
  times(
    "request_seconds",
    "From a request to its answer, or to the beginning of a streamed one.",
    used.map(({ name, duration }) => [{ route: name }, duration]),
  );
  counter(
    "refusals_total",
    "Errors answered, by code.",
    by(counts.refusals, (code) => ({ code })),
  );
  times("admission_seconds", "From a request to its durable hold.", [[{}, counts.admission]]);
  counter(
    "exchanges_total",
    "Admitted requests that ended, by outcome and what the charge rests on.",
    [...counts.endings].flatMap(([outcome, bases]) => by(bases, (basis) => ({ outcome, basis }))),
  );
  times("exchange_seconds", "From a request to its end.", [[{}, counts.exchange]]);
  counter("charged_nano_usd_total", "What customers were charged.", [[{}, counts.chargedNanoUsd]]);
  counter("lost_nano_usd_total", "What the provider bills and no customer owes.", [[{}, counts.lostNanoUsd]]);
  const byModel = (sum: "reportedNanoUsd" | "listedNanoUsd"): Sample[] =>
    [...costs].map(([model, cost]) => [{ model }, cost[sum]]);
  counter(
    "provider_cost_nano_usd_total",
    "What the provider says that its answers cost, of answers that say it.",
    byModel("reportedNanoUsd"),
  );
  counter("listed_cost_nano_usd_total", "What the same answers cost at the prices in force.", byModel("listedNanoUsd"));
  counter("sales_total", "Requests that agents served and customers were charged for.", [[{}, counts.sold]]);
  counter("sold_nano_usd_total", "What customers were charged for them.", [[{}, counts.soldNanoUsd]]);
  counter(
    "upstream_answers_total",
    "Answers of the provider, by status.",
    by(counts.upstreamStatuses, (status) => ({ status })),
  );
  counter(
    "upstream_failures_total",
    "Requests that the provider did not answer, by how far they came.",
    by(counts.upstreamFailures, (stage) => ({ stage })),
  );
  times("upstream_seconds", "From asking the provider to its headers.", [[{}, counts.upstream]]);
  counter(
    "log_events_total",
    "Warnings and alerts, by event.",
    [...counts.logs].flatMap(([level, events]) => by(events, (event) => ({ level, event }))),
  );

  for (const { name, help, value, labels = {} } of gauges) {
    family(name, "gauge", help, value === null ? [] : [line(name, labels, Number(value))]);
  }
  return `${text.join("\n")}\n`;
}

const PREFIX = "inference_gateway_";

function by<K>(counts: ReadonlyMap<K, number>, labels: (key: K) => Labels): Sample[] {
  return [...counts].map(([key, value]) => [labels(key), value]);
}

function histogramLines(name: string, labels: Labels, { counts, sumMs }: Histogram): string[] {
  let total = 0;
  const buckets = counts.map((count, bucket) => {
    total += count;
    const bound = boundsMs[bucket];
    return line(`${name}_bucket`, { ...labels, le: bound === undefined ? "+Inf" : bound / 1000 }, total);
  });
  return [...buckets, line(`${name}_sum`, labels, sumMs / 1000), line(`${name}_count`, labels, total)];
}

/** Every label is the gateway's own word or number. None needs escaping. */
function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  return `${PREFIX}${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}
