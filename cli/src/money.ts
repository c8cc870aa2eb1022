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

/** Token units in the text of an intent. The format never changes, because later runs compare intents. */
export function intended(amountToken: bigint): string {
  return `$${formatDecimal(amountToken, 6)}`;
}

/** Token units as dollars. */
export function dollars(amountToken: bigint): string {
  return `$${withCents(formatDecimal(amountToken, 6))}`;
}

export function usd(amountNanoUsd: number): string {
  return `$${withCents(formatUsd(amountNanoUsd))}`;
}

/** A decimal with at least two digits after the point. */
export function withCents(decimal: string): string {
  const [whole, fraction = ""] = decimal.split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}

/** A text of the gateway or the library, with each amount in dollars in the same form. */
export function withDollars(text: string): string {
  return text.replaceAll(/\$(\d+(?:\.\d+)?)/g, (_, decimal: string) => `$${withCents(decimal)}`);
}

/** A chain's coins for people: at most six decimals, rounded down. */
export function shortCoins(decimal: string): string {
  const short = decimal.replace(/(\.\d{6})\d+$/, "$1");
  return Number(short) === 0 && decimal !== "0" ? "< 0.000001" : short;
}
