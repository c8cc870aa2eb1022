import { GatewayError } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import type { Gateway } from "../gateway.ts";

/** Null while there are no prices, or only old ones. */
export function pricesInForce({ prices }: Pick<Gateway, "prices">): PriceSnapshot | null {
  try {
    return prices.current();
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** The age of a snapshot in whole seconds. */
export function ageS(snapshot: PriceSnapshot, atMs: number): number {
  return Math.max(0, Math.floor((atMs - snapshot.atMs) / 1000));
}
