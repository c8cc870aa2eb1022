import { timingSafeEqual } from "node:crypto";
import { ceilingPartition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { exposition, type Gauge } from "../operator/exposition.ts";
import { endpoint } from "./endpoint.ts";
import { ageS } from "./prices.ts";
import { lastReconciled } from "./reconciliations.ts";

/**
 * Requires the operator's token. Without a token in the settings it is 404. Addresses are not checked, because behind a
 * proxy every client has the loopback address.
 */
export const getMetrics = endpoint({
  path: "/metrics",
  id: "getMetrics",
  group: "Operation",
  title: "Counters and gauges, in Prometheus' format",
  about: "There only if the operator has set METRICS_TOKEN. They name no account, key or address but the settler's.",
  credentials: ["operator's token"],
  answers: [ok("The metrics.", { "text/plain": null })],
  errors: ["not_found"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { metricsToken } = gateway.config.operator;
    if (metricsToken === null) fail("not_found", `There is no ${context.req.method} ${context.req.path} here.`);
    const sent = /^bearer[ \t]+(\S+)[ \t]*$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (sent === undefined) fail("missing_credentials", "Send METRICS_TOKEN as `Authorization: Bearer <token>`.");
    if (!isSame(sent, metricsToken))
      fail("invalid_api_key", "The token is not METRICS_TOKEN. See the gateway's settings.");
    const text = exposition(gateway.metrics.counts, await readGauges(gateway, at), gateway.providerCosts.byModel);
    const ofProcess = (await gateway.environment.processMetrics?.()) ?? "";
    return context.body(text + ofProcess, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  },
});

function isSame(sent: string, token: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function readGauges(gateway: Gateway, at: number): Promise<Gauge[]> {
  const { environment, breaker, queue, live } = gateway;
  const { ledger, chain } = environment;
  // A ceiling that cannot be read now is left out.
  const ceiling = await ledger.read(ceilingPartition, { type: "ceiling", at }).catch(() => null);
  const { state, block, lagBlocks } = chain.following();
  const prices = gateway.prices.known();
  const settler = environment.settler?.();
  const day = await lastReconciled(gateway).catch(() => undefined);
  const bill = day === undefined ? undefined : (JSON.parse(day.detail) as Reconciliation);
  const standing = queue.standing(gateway.config.upstream.apiKey);
  const balanceWei = settler?.balanceWei ?? null;
  const gauge = (name: string, help: string, value: Gauge["value"] | undefined) => ({
    name,
    help,
    value: value ?? null,
  });
  return [
    gauge("requests_in_flight", "Admitted requests that have not ended.", live.size),
    gauge("requests_waiting", "Requests that wait for their turn at the provider.", queue.waiting()),
    gauge("ledger_writable", "1 while the ledger takes requests.", ledger.writable),
    gauge("ceiling_limit_nano_usd", "The day's ceiling.", ceiling?.limitNanoUsd),
    gauge("ceiling_settled_nano_usd", "What of it is settled.", ceiling?.settledNanoUsd),
    gauge("ceiling_held_nano_usd", "What of it is held.", ceiling?.heldNanoUsd),
    gauge("chain_following", "1 while activations are read.", state === "following"),
    gauge("chain_halted", "1 once the chain contradicts the books: nothing is credited.", state === "halted"),
    gauge("chain_block", "The last block in the books.", block),
    gauge("chain_lag_blocks", "Final blocks that are not in the books.", lagBlocks),
    gauge(
      "settler_balance_wei",
      "What the settler has to pay for gas.",
      balanceWei === null ? null : Number(balanceWei),
    ),
    gauge("settler_nonce", "The number of the settler's next transaction.", settler?.nonce),
    gauge("settler_in_flight", "Transactions of the settler that are not final.", settler?.inFlight),
    gauge("settlement_waiting_accounts", "Accounts with a statement that is not final.", settler?.waiting.accounts),
    gauge("settlement_waiting_nano_usd", "What these statements come to.", settler?.waiting.amountNanoUsd),
    gauge(
      "settlement_oldest_age_seconds",
      "The age of the oldest use in a statement that is not final.",
      settler == null || settler.waiting.oldestAt === null ? null : Math.round((at - settler.waiting.oldestAt) / 1_000),
    ),
    {
      ...gauge("settler_address", "1, with the address of the settler's account.", settler === undefined ? null : 1),
      ...(settler === undefined ? {} : { labels: { address: settler.address } }),
    },
    gauge(
      "reconciliation_unexplained_nano_usd",
      "Of the last day that was reconciled, what nothing explains.",
      day?.unexplainedNanoUsd,
    ),
    gauge(
      "reconciliation_listed_nano_usd",
      "What the requests of that day cost at list prices, if the provider's record is read.",
      bill?.listedNanoUsd,
    ),
    gauge(
      "reconciliation_provider_nano_usd",
      "What the provider charged for that day, by its own record.",
      bill?.providerNanoUsd,
    ),
    gauge("prices_age_seconds", "The age of the prices in force.", prices && ageS(prices, at)),
    gauge("models", "Models that can be priced and served.", prices?.models.size),
    gauge(
      "provider_failures",
      "Requests that failed at the provider by their content, and count for UPSTREAM_FAILURES.",
      standing.failures,
    ),
    gauge(
      "provider_blocked",
      "1 while the provider blocks UPSTREAM_API_KEY for its failed requests.",
      standing.isBlocked,
    ),
    gauge("models_cut_off", "Models that are not asked for, because the provider failed for them.", breaker.cutOff(at)),
  ];
}
