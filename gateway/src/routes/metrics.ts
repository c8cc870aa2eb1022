import { timingSafeEqual } from "node:crypto";
import { ceilingPartition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";
import { ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { exposition, type Gauges } from "../operator/exposition.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";
import { pricesInForce } from "./prices-in-force.ts";

/**
 * For whoever sends the operator's token. Without one in the settings the path is not there: behind a proxy every
 * client has the loopback address, so an address proves nothing.
 */
export const getMetrics = endpoint({
  method: "GET",
  path: "/metrics",
  id: "getMetrics",
  group: "Operation",
  title: "Counters and gauges, in Prometheus' format",
  about: "There only if the operator has set METRICS_TOKEN. They name no account, key or address.",
  credentials: ["operator's token"],
  answers: [ok("The metrics.", { "text/plain": null })],
  errors: ["missing_credentials", "invalid_api_key", "not_found", ...commonErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const { metricsToken } = gateway.config.operator;
    if (metricsToken === null) fail("not_found", `There is no ${context.req.method} ${context.req.path} here.`);
    const sent = /^bearer[ \t]+(\S+)[ \t]*$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (sent === undefined) fail("missing_credentials", "Send METRICS_TOKEN as `Authorization: Bearer <token>`.");
    if (!isSame(sent, metricsToken))
      fail("invalid_api_key", "The token is not METRICS_TOKEN. See the gateway's settings.");
    const text = exposition(gateway.metrics.counts, await readGauges(gateway, at));
    return context.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  },
});

function isSame(sent: string, token: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function readGauges(gateway: Gateway, at: number): Promise<Gauges> {
  const { environment, breaker, queue, live } = gateway;
  const { ledger, chain } = environment;
  // What cannot be read now is left out, and the rest is told.
  const ceiling = await ledger.read(ceilingPartition, { type: "ceiling", at }).catch(() => null);
  const { state, block, lagBlocks } = chain.following();
  const prices = pricesInForce(gateway, at);
  return {
    requestsInFlight: live.size,
    requestsWaiting: queue.waiting(),
    ledgerWritable: ledger.writable,
    ceilingLimitNanoUsd: ceiling?.limitNanoUsd ?? null,
    ceilingSettledNanoUsd: ceiling?.settledNanoUsd ?? null,
    ceilingHeldNanoUsd: ceiling?.heldNanoUsd ?? null,
    chainFollowing: state === "following",
    chainHalted: state === "halted",
    chainBlock: block,
    chainLagBlocks: lagBlocks,
    pricesAgeS: prices?.age_s ?? null,
    models: prices?.models ?? null,
    modelsCutOff: breaker.cutOff(at),
  };
}
