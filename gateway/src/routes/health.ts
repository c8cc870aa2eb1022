import { LedgerUnavailable } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import { GatewayError } from "@inference/protocol/errors";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";

type Health = "ok" | "unavailable";

/**
 * GET /healthz: 200 if a paid request could be admitted here now, else 503, with the part that could not. Where the
 * provider refuses our key the gateway is degraded and still answers all else: that is 200, with what is to be done.
 */
export async function getHealth(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const [ledger, key] = await Promise.all([ledgerHealth(gateway, at), gateway.keyCheck.current()]);
  const prices = pricesHealth(gateway);
  const isWell = ledger === "ok" && prices === "ok";
  const status = !isWell ? "unavailable" : key.state === "refused" ? "degraded" : "ok";
  // A chain that cannot be followed delays credits; requests go on being served and are not refused for it.
  const chain = gateway.environment.chain.following().state;
  const checks = { ledger, prices, provider: key.state };
  const action = key.state === "refused" ? { action: key.action } : {};
  return context.json({ status, checks, chain, ...action }, isWell ? 200 : 503);
}

async function ledgerHealth({ environment }: Gateway, at: number): Promise<Health> {
  try {
    await environment.ledger.read(ceilingPartition, { type: "ceiling", at });
    return environment.ledger.writable ? "ok" : "unavailable";
  } catch (error) {
    if (error instanceof LedgerUnavailable) return "unavailable";
    throw error;
  }
}

function pricesHealth({ prices }: Gateway): Health {
  try {
    prices.current();
    return "ok";
  } catch (error) {
    if (error instanceof GatewayError) return "unavailable";
    throw error;
  }
}
