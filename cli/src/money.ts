import { formatDecimal, formatUsd, parseDecimal } from "@inference/protocol/money";
import { UsageError } from "./errors.ts";

/** Dollars as a person types them, in token units (1e-6 dollar). Throws {@link UsageError}. */
export function readDollars(text: string, what = "The amount"): bigint {
  const amountToken = parseDecimal(text.replace(/^\$/, ""), 6);
  if (amountToken !== undefined && amountToken > 0n) return amountToken;
  throw new UsageError(
    `${what} is in dollars, above 0 and with at most six decimals, like 5 or 0.25. It is not \`${text}\`.`,
  );
}

/** Token units as dollars. */
export function dollars(amountToken: bigint): string {
  return `$${formatDecimal(amountToken, 6)}`;
}

export function usd(amountNanoUsd: number): string {
  return `$${formatUsd(amountNanoUsd)}`;
}
