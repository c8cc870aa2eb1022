import { attoToNanoUsdUp } from "@inference/protocol/money";
import { count } from "../format.ts";
import { exactUsd, type ListedPrice, pricesOf, shownPrice, type Unit, unitOf, unitsOf } from "./cost.ts";

type Pricing = Readonly<Record<string, unknown>>;

/** The quantities of one request. `input`: tokens, characters, images or seconds of audio, by the model. */
type Quantities = { input: number; cached: number; output: number; label?: string | undefined };

/** A line that multiplies out: quantity times price is the amount, in 1e-18 dollar. */
type EstimateLine = { text: string; atto: bigint; amount: string };

export type Estimate = { lines: EstimateLine[]; isRoundedUp: boolean; nanoUsd: number };

/**
 * The cost of a request. Its sum is rounded up to the nano-dollar, once, as a charge is.
 *
 * @returns Undefined if a price is missing.
 */
export function estimate(type: string, pricing: Pricing, { input, cached, output, label }: Quantities) {
  const prices = pricesOf(type, pricing);
  const unit = unitOf(pricing);
  const lines =
    unit === "tokens"
      ? tokenLines(prices, { input, cached: Math.min(cached, input), output })
      : [lineOf(input, NOUNS[unit], label === undefined ? prices[0] : prices.find((price) => price.label === label))];
  const known = lines.flatMap((line) => line ?? []);
  if (known.length !== lines.length) return undefined;
  const atto = known.reduce((sum, line) => sum + line.atto, 0n);
  const nanoUsd = attoToNanoUsdUp(atto);
  return { lines: known, isRoundedUp: BigInt(nanoUsd) * 1_000_000_000n !== atto, nanoUsd } satisfies Estimate;
}

export const NOUNS: Readonly<Record<Exclude<Unit, "tokens">, string>> = {
  characters: "Characters",
  images: "Images",
  seconds: "Seconds of audio",
};

function tokenLines(prices: readonly ListedPrice[], { input, cached, output }: Quantities) {
  const [above = null] = prices.flatMap(({ aboveTokens }) => aboveTokens ?? []);
  const tier = above !== null && input > above ? above : null;
  const rate = (of: ListedPrice["of"]) => prices.find((price) => price.of === of && price.aboveTokens === tier);
  return [
    lineOf(input - cached, cached === 0 ? "Input" : "Input, not cached", rate("prompt")),
    ...(cached === 0 ? [] : [lineOf(cached, "Cached input", rate("cached") ?? rate("prompt"))]),
    ...(rate("completion") === undefined ? [] : [lineOf(output, "Output", rate("completion"))]),
  ];
}

function lineOf(quantity: number, noun: string, price: ListedPrice | undefined): EstimateLine | undefined {
  if (price === undefined) return undefined;
  const atto = BigInt(quantity) * price.atto;
  // Audio is listed by the minute, and counted by the second.
  const shown = price.of === "second" ? exactUsd(price.atto) : shownPrice(price);
  const per = unitsOf(price.of) === 1_000_000n ? " / 1M" : "";
  return { text: `${noun}, ${count(quantity)} × ${shown}${per}`, atto, amount: exactUsd(atto) };
}
