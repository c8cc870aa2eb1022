import { GatewayError } from "@inference/protocol/errors";
import type { Gateway } from "../gateway.ts";

/** Null while there are none that may be charged by. */
export function pricesInForce({ prices }: Pick<Gateway, "prices">, atMs: number) {
  try {
    const snapshot = prices.current();
    return {
      snapshot: snapshot.id,
      age_s: Math.max(0, Math.floor((atMs - snapshot.atMs) / 1000)),
      models: snapshot.models.size,
    };
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
