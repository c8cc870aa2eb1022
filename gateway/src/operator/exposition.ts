import { boundsMs, type Counts, type Histogram } from "./metrics.ts";

/** What is measured in the moment it is asked for; null where nobody knows. */
export type Gauges = {
  requestsInFlight: number;
  requestsWaiting: number;
  ledgerWritable: boolean;
  ceilingLimitNanoUsd: number | null;
  ceilingSettledNanoUsd: number | null;
  ceilingHeldNanoUsd: number | null;
  chainFollowing: boolean;
  chainHalted: boolean;
  chainBlock: number | null;
  chainLagBlocks: number | null;
  pricesAgeS: number | null;
  models: number | null;
  modelsCutOff: number;
};

type Sample = { labels: Record<string, string>; value: number };

/** Prometheus' text format, version 0.0.4. Amounts are integers in nano-dollars, times are in seconds. */
export function exposition(counts: Readonly<Counts>, gauges: Gauges): string {
  const text: string[] = [];
  const family = (name: string, type: "counter" | "gauge", help: string, samples: readonly Sample[]): void => {
    text.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`);
    for (const { labels, value } of samples) text.push(`${PREFIX}${name}${labelText(labels)} ${value}`);
  };
  const gauge = (name: string, help: string, value: number | boolean | null): void =>
    family(name, "gauge", help, value === null ? [] : [{ labels: {}, value: Number(value) }]);
  const counter = (name: string, help: string, samples: readonly Sample[]): void =>
    family(name, "counter", help, samples);
  const times = (
    name: string,
    help: string,
    all: readonly { labels: Record<string, string>; of: Histogram }[],
  ): void => {
    text.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} histogram`);
    for (const { labels, of } of all) text.push(...histogramLines(`${PREFIX}${name}`, labels, of));
  };

  const used = counts.routes.filter(({ statuses }) => statuses.size > 0);
  counter(
    "requests_total",
    "Requests answered, by route and status.",
    used.flatMap(({ name, statuses }) => by(statuses, (status) => ({ route: name, status: String(status) }))),
  );
  times(
    "request_seconds",
    "From a request to its answer, or to the beginning of a streamed one.",
    used.map(({ name, duration }) => ({ labels: { route: name }, of: duration })),
  );
  counter(
    "refusals_total",
    "Errors answered, by code.",
    by(counts.refusals, (code) => ({ code })),
  );
  times("admission_seconds", "From a request to its durable hold.", [{ labels: {}, of: counts.admission }]);
  counter(
    "exchanges_total",
    "Admitted requests that ended, by outcome and what the charge rests on.",
    [...counts.endings].flatMap(([outcome, bases]) => by(bases, (basis) => ({ outcome, basis }))),
  );
  times("exchange_seconds", "From a request to its end.", [{ labels: {}, of: counts.exchange }]);
  counter("charged_nano_usd_total", "What customers were charged.", [{ labels: {}, value: counts.chargedNanoUsd }]);
  counter("lost_nano_usd_total", "What the provider bills and no customer owes.", [
    { labels: {}, value: counts.lostNanoUsd },
  ]);
  counter(
    "upstream_answers_total",
    "Answers of the provider, by status.",
    by(counts.upstreamStatuses, (status) => ({ status: String(status) })),
  );
  counter(
    "upstream_failures_total",
    "Requests that the provider did not answer, by how far they came.",
    by(counts.upstreamFailures, (stage) => ({ stage })),
  );
  times("upstream_seconds", "From asking the provider to its headers.", [{ labels: {}, of: counts.upstream }]);
  counter(
    "log_events_total",
    "Warnings and alerts, by event.",
    [...counts.logs].flatMap(([level, events]) => by(events, (event) => ({ level, event }))),
  );

  gauge("requests_in_flight", "Admitted requests that have not ended.", gauges.requestsInFlight);
  gauge("requests_waiting", "Requests that wait for their turn at the provider.", gauges.requestsWaiting);
  gauge("ledger_writable", "1 while the ledger takes requests.", gauges.ledgerWritable);
  gauge("ceiling_limit_nano_usd", "The day's ceiling.", gauges.ceilingLimitNanoUsd);
  gauge("ceiling_settled_nano_usd", "What of it is settled.", gauges.ceilingSettledNanoUsd);
  gauge("ceiling_held_nano_usd", "What of it is held.", gauges.ceilingHeldNanoUsd);
  gauge("chain_following", "1 while activations are read.", gauges.chainFollowing);
  gauge("chain_halted", "1 once the chain contradicts the books: nothing is credited.", gauges.chainHalted);
  gauge("chain_block", "The last block in the books.", gauges.chainBlock);
  gauge("chain_lag_blocks", "Final blocks that are not in the books.", gauges.chainLagBlocks);
  gauge("prices_age_seconds", "The age of the prices in force.", gauges.pricesAgeS);
  gauge("models", "Models that can be priced and served.", gauges.models);
  gauge("models_cut_off", "Models that are not asked for, because the provider failed for them.", gauges.modelsCutOff);
  return `${text.join("\n")}\n`;
}

const PREFIX = "inference_gateway_";

function by<K>(counts: ReadonlyMap<K, number>, labels: (key: K) => Record<string, string>): Sample[] {
  return [...counts].map(([key, value]) => ({ labels: labels(key), value }));
}

function histogramLines(name: string, labels: Record<string, string>, { counts, sumMs }: Histogram): string[] {
  let total = 0;
  const lines = counts.map((count, bucket) => {
    total += count;
    const bound = boundsMs[bucket];
    const le = bound === undefined ? "+Inf" : String(bound / 1000);
    return `${name}_bucket${labelText({ ...labels, le })} ${total}`;
  });
  return [...lines, `${name}_sum${labelText(labels)} ${sumMs / 1000}`, `${name}_count${labelText(labels)} ${total}`];
}

/** Every value is ours: a route, a code, a number. None needs escaping. */
function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
