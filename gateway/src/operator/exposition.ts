import { boundsMs, type Counts, type Histogram } from "./metrics.ts";
import type { ProviderCosts } from "./provider-costs.ts";

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

/** A label's value is escaped: the id of a model is the provider's own text, of one line. */
function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${String(text).replace(/["\\]/g, "\\$&")}"`);
  return `${PREFIX}${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}
