import { attoToNanoUsdUp, parseDecimal } from "@inference/protocol/money";
import { quoteTokens } from "@inference/sdk/verify/usage-cost";

type Pricing = Readonly<Record<string, unknown>>;

/** What a model is paid by. */
export type Unit = "tokens" | "characters" | "images";

export function unitOf(pricing: Pricing): Unit {
  return "image" in pricing ? "images" : "character" in pricing ? "characters" : "tokens";
}

/**
 * The most that a request costs, in nano-dollars: with the dearest price that can apply to it. Undefined if a price is
 * missing.
 *
 * @param input Tokens or characters that are sent; of images, their number.
 * @param output Tokens that come back at most.
 */
export function mostNanoUsd(
  pricing: Pricing,
  { input, output }: { input: number; output: number },
): number | undefined {
  const unit = unitOf(pricing);
  if (unit === "images") return charged(dearest(pricing.image_by_quality ?? pricing.image), BigInt(input));
  if (unit === "characters") return charged(attoOf(pricing.character), BigInt(input));
  return quoteTokens({ prompt: input, completion: output }, pricing);
}

/** Dollars for a million tokens or characters, or for an image, as an exact decimal; null if there is no such price. */
export function shownPrice(pricing: Pricing, name: "prompt" | "completion" | "character" | "image"): string | null {
  const atto = name === "image" ? dearest(pricing.image) : attoOf(pricing[name]);
  if (atto === undefined) return null;
  const scaled = name === "image" ? atto : atto * 1_000_000n;
  const digits = scaled.toString().padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  return `$${digits.slice(0, -18)}.${fraction.padEnd(2, "0")}`;
}

function charged(price: bigint | undefined, units: bigint): number | undefined {
  return price === undefined ? undefined : attoToNanoUsdUp(price * units);
}

function dearest(prices: unknown): bigint | undefined {
  if (typeof prices !== "object" || prices === null) return attoOf(prices);
  const each = Object.values(prices).map(dearest);
  return each.reduce((most, price) => (most === undefined || (price ?? 0n) > most ? price : most), undefined);
}

function attoOf(price: unknown): bigint | undefined {
  return typeof price === "string" ? parseDecimal(price, 18) : undefined;
}
