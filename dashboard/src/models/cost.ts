import { attoToNanoUsdUp, parseDecimal } from "@inference/protocol/money";
import { quoteTokens } from "@inference/sdk/verify/usage-cost";
import { count } from "../format.ts";

type Pricing = Readonly<Record<string, unknown>>;

/** The unit of a model's prices. */
export type Unit = "tokens" | "characters" | "images" | "seconds";

export function unitOf(pricing: Pricing): Unit {
  if ("audio_second" in pricing) return "seconds";
  return "image" in pricing ? "images" : "character" in pricing ? "characters" : "tokens";
}

/**
 * The maximum cost of a request, in nano-dollars, at the highest price that can apply. Undefined: a price is missing.
 *
 * @param input Input tokens or characters, the number of images, or seconds of audio.
 * @param output The most output tokens.
 */
export function mostNanoUsd(
  pricing: Pricing,
  { input, output }: { input: number; output: number },
): number | undefined {
  const unit = unitOf(pricing);
  if (unit === "images") return charged(dearest(pricing.image_by_quality ?? pricing.image), BigInt(input));
  if (unit === "characters") return charged(attoOf(pricing.character), BigInt(input));
  if (unit === "seconds") return charged(attoOf(pricing.audio_second), BigInt(input));
  return quoteTokens({ prompt: input, completion: output }, pricing);
}

type PriceName = "prompt" | "completion" | "character" | "image" | "second";
type ListedPrice = { of: PriceName; label: string; atto: bigint };

/** Every price that can apply to a request for the model, the usual one of each kind first. */
export function pricesOf(type: string, pricing: Pricing): ListedPrice[] {
  const unit = unitOf(pricing);
  if (unit === "images") return imagePrices(pricing);
  const ofTokens = type === "embedding" ? TOKENS.slice(0, 1) : TOKENS;
  const names = unit === "characters" ? CHARACTERS : unit === "seconds" ? SECONDS : ofTokens;
  const extended = (pricing.extended ?? {}) as Pricing;
  const above = ` above ${count(Number(extended.above_prompt_tokens))} input tokens`;
  return [pricing, extended].flatMap((prices) =>
    names.flatMap(([of, name, label]) => {
      const atto = attoOf(prices[name]);
      return atto === undefined ? [] : [{ of, label: prices === extended ? `${label}${above}` : label, atto }];
    }),
  );
}

const CHARACTERS = [["character", "character", "Characters"]] as const;
const SECONDS = [["second", "audio_second", "Seconds of audio"]] as const;
const TOKENS = [
  ["prompt", "prompt", "Input"],
  ["prompt", "input_cache_read", "Input read from the cache"],
  ["prompt", "input_cache_write", "Input written to the cache"],
  ["completion", "completion", "Output"],
] as const;

function imagePrices({ image, image_by_quality: byQuality }: Pricing): ListedPrice[] {
  const sizes = (prices: unknown, quality: string): ListedPrice[] =>
    Object.entries(typeof prices === "object" && prices !== null ? prices : { "": prices }).flatMap(([size, price]) => {
      const atto = attoOf(price);
      const label = [size, quality].filter((word) => word !== "").join(", ");
      return atto === undefined ? [] : [{ of: "image", label: label === "" ? "Any size" : label, atto }];
    });
  const qualities = Object.entries((byQuality ?? {}) as Pricing).flatMap(([quality, prices]) => sizes(prices, quality));
  return [...sizes(image, ""), ...qualities].sort((one, other) => (one.atto < other.atto ? -1 : 1));
}

/** The usual price, with `from` if another one is higher; null: no price. */
export function priceCell([usual, ...others]: readonly ListedPrice[]): string | null {
  if (usual === undefined) return null;
  return `${others.some(({ atto }) => atto > usual.atto) ? "from " : ""}${shownPrice(usual)}`;
}

/** Dollars for a million tokens or characters, for an image, or for an hour of audio, as an exact decimal. */
export function shownPrice({ of, atto }: ListedPrice): string {
  const scaled = of === "image" ? atto : of === "second" ? atto * 3_600n : atto * 1_000_000n;
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
