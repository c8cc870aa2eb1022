import { LedgerUnavailable } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import { healthAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";
import { pricesInForce } from "./prices-in-force.ts";

type Health = "ok" | "unavailable" | "behind";

/**
 * 200 if a paid request could be admitted now, else 503, with the part that is unavailable. If the provider refuses the
 * gateway's key, everything else works: that is 200 and `degraded`, with what the operator has to do.
 */
export const getHealth = endpoint({
  method: "GET",
  path: "/healthz",
  id: "getHealth",
  group: "Operation",
  title: "Whether a paid request could be admitted now",
  credentials: [],
  answers: [
    ok("It could; `degraded` if the provider refuses the gateway's key.", json("HealthAnswer", healthAnswer)),
    { status: 503, about: "It could not.", content: json("HealthAnswer", healthAnswer) },
  ],
  errors: commonErrors,
  async handle(context) {
    const { gateway, at } = context.var;
    const [ledger, key] = await Promise.all([ledgerHealth(gateway, at), gateway.keyCheck.current()]);
    const prices: Health = pricesInForce(gateway) === null ? "unavailable" : "ok";
    const isWell = ledger === "ok" && prices === "ok";
    const status = !isWell ? "unavailable" : key.state === "refused" ? "degraded" : "ok";
    // A chain that cannot be followed delays credits. Requests are still served.
    const chain = gateway.environment.chain.following().state;
    const checks = { ledger, prices, provider: key.state };
    const behind = gateway.environment.behind?.() ?? null;
    const action = behind ?? (key.state === "refused" ? key.action : undefined);
    const { rowVersion } = gateway.environment;
    const more = {
      ...(action === undefined ? {} : { action }),
      ...(rowVersion === undefined ? {} : { row_version: rowVersion }),
    };
    return context.json({ status, checks, chain, ...more }, isWell ? 200 : 503);
  },
});

async function ledgerHealth({ environment }: Gateway, at: number): Promise<Health> {
  try {
    if (environment.behind?.() != null) return "behind";
    await environment.ledger.read(ceilingPartition, { type: "ceiling", at });
    return environment.ledger.writable ? "ok" : "unavailable";
  } catch (error) {
    if (error instanceof LedgerUnavailable) return "unavailable";
    throw error;
  }
}
