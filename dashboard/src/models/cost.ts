import { formatDecimal } from "@inference/protocol/money";
import { attoOf } from "@inference/sdk/verify/usage-cost";
import { count, dollars } from "../format.ts";

type Pricing = Readonly<Record<string, unknown>>;

/** The unit of a model's prices. */
export type Unit = "tokens" | "characters" | "images" | "seconds";

export function unitOf(pricing: Pricing): Unit {
  if ("audio_second" in pricing) return "seconds";
  return "image" in pricing ? "images" : "character" in pricing ? "characters" : "tokens";
}

type PriceName = "prompt" | "cached" | "completion" | "character" | "image" | "second";
/** A price of one unit, in 1e-18 dollar. `aboveTokens`: of requests with more input tokens. */
export type ListedPrice = { of: PriceName; label: string; atto: bigint; aboveTokens: number | null };

/** Every price that can apply to a request for the model, the usual one of each kind first. */
export function pricesOf(type: string, pricing: Pricing): ListedPrice[] {
  const unit = unitOf(pricing);
  if (unit === "images") return imagePrices(pricing);
  const ofTokens = type === "embedding" ? TOKENS.slice(0, 1) : TOKENS;
  const names = unit === "characters" ? CHARACTERS : unit === "seconds" ? SECONDS : ofTokens;
  const extended = (pricing.extended ?? {}) as Pricing;
  return [pricing, extended].flatMap((prices) =>
    names.flatMap(([of, name, label]) => {
      const atto = attoOf(prices[name]);
      const aboveTokens = prices === extended ? Number(extended.above_prompt_tokens) : null;
      const above = aboveTokens === null ? "" : ` above ${count(aboveTokens)} input tokens`;
      return atto === undefined ? [] : [{ of, label: `${label}${above}`, atto, aboveTokens }];
    }),
  );
}

const CHARACTERS = [["character", "character", "Characters"]] as const;
const SECONDS = [["second", "audio_second", "Minutes of audio"]] as const;
const TOKENS = [
  ["prompt", "prompt", "Input"],
  ["cached", "input_cache_read", "Cached input"],
  ["prompt", "input_cache_write", "Input written to the cache"],
  ["completion", "completion", "Output"],
] as const;

function imagePrices({ image, image_by_quality: byQuality }: Pricing): ListedPrice[] {
  const sizes = (prices: unknown, quality: string): ListedPrice[] =>
    Object.entries(typeof prices === "object" && prices !== null ? prices : { "": prices }).flatMap(([size, price]) => {
      const atto = attoOf(price);
      const label = [size, quality].filter((word) => word !== "").join(", ");
      return atto === undefined
        ? []
        : [{ of: "image", label: label === "" ? "Any size" : label, atto, aboveTokens: null }];
    });
  const qualities = Object.entries((byQuality ?? {}) as Pricing).flatMap(([quality, prices]) => sizes(prices, quality));
  return [...sizes(image, ""), ...qualities].sort((one, other) => (one.atto < other.atto ? -1 : 1));
}

/** A column of the table of models. */
export type PriceColumn = "input" | "cached" | "output";

/** The prices that a column of the table of models stands for, the usual one first. */
export function columnPrices(type: string, pricing: Pricing, column: PriceColumn): ListedPrice[] {
  const all = pricesOf(type, pricing);
  const shown = all.filter(({ of }) => COLUMN_OF[of] === column);
  const extended = (pricing.extended ?? {}) as Pricing;
  // Where a tier has no price of cached input, cached input costs what input does.
  const isMissing =
    column === "cached" && shown.length > 0 && "prompt" in extended && !("input_cache_read" in extended);
  return isMissing
    ? [...shown, ...all.filter(({ of, aboveTokens }) => of === "prompt" && aboveTokens !== null)]
    : shown;
}

const COLUMN_OF: Readonly<Record<PriceName, PriceColumn>> = {
  prompt: "input",
  character: "input",
  second: "input",
  cached: "cached",
  completion: "output",
  image: "output",
};

/** The usual price and whether a higher one can apply; null: there is no such price. */
export function cellOf([usual, ...others]: readonly ListedPrice[]): { price: string; isFrom: boolean } | null {
  if (usual === undefined) return null;
  return { price: shownPrice(usual), isFrom: others.some(({ atto }) => atto > usual.atto) };
}

/** Dollars for a million tokens or characters, for an image, or for a minute of audio, as an exact decimal. */
export function shownPrice({ of, atto }: Pick<ListedPrice, "of" | "atto">): string {
  return exactUsd(atto * unitsOf(of));
}

/** The units that a shown price is for: a million tokens or characters, one image, 60 seconds of audio. */
export function unitsOf(of: PriceName): bigint {
  return of === "image" ? 1n : of === "second" ? 60n : 1_000_000n;
}

/** Dollars of an amount in 1e-18 dollar, exact, with at least two decimals. */
export function exactUsd(atto: bigint): string {
  return dollars(formatDecimal(atto, 18));
}
