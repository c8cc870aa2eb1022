import type { AttoUsd } from "@inference/protocol/model";

/** Of prices of which it is not known which applies, the one that covers them all; 0 of none. */
export function dearest(prices: readonly (AttoUsd | undefined)[]): AttoUsd {
  let most = 0n;
  for (const price of prices) if (price !== undefined && price > most) most = price;
  return most;
}
