import { formatDecimal } from "@inference/protocol/money";
import { attoOf } from "@inference/sdk/verify/usage-cost";
import { withCents } from "./money.ts";

type Pricing = Readonly<Record<string, unknown>>;

/** Dollars for a million tokens or characters; empty for no price or the price zero. */
export function perMillion(price: unknown): string {
  const atto = attoOf(price);
  return atto === undefined || atto === 0n ? "" : withCents(formatDecimal(atto * 1_000_000n, 18));
}

/** All of a model's prices but those of its input and its output, in dollars, for people. */
export function otherPrices(pricing: Pricing): string {
  const { input_cache_read: read, input_cache_write: write, character, image } = pricing;
  const { extended, image_by_quality: byQuality, audio_second: second } = pricing;
  const parts = [
    read === undefined ? "" : `${perMillion(read)} per M cached input`,
    write === undefined ? "" : `${perMillion(write)} per M written to the cache`,
    isObject(extended) ? aboveThreshold(extended) : "",
    character === undefined ? "" : `${perMillion(character)} per M characters`,
    typeof second === "string" ? `${withCents(second)} a second of audio` : "",
    typeof image === "string" ? `${withCents(image)} an image` : "",
    isObject(image) ? `an image ${table(image)}` : "",
    isObject(byQuality) ? Object.entries(byQuality).map(([size, prices]) => `${size} ${table(prices)}`) : "",
  ];
  return parts
    .flat()
    .filter((part) => part !== "")
    .join(", ");
}

function aboveThreshold({ above_prompt_tokens: threshold, prompt, completion }: Pricing): string {
  return `${perMillion(prompt)} and ${perMillion(completion)} above ${String(threshold)} input tokens`;
}

function table(prices: unknown): string {
  return isObject(prices)
    ? Object.entries(prices)
        .map(([size, price]) => `${withCents(String(price))} (${size})`)
        .join(" ")
    : "";
}

function isObject(value: unknown): value is Pricing {
  return typeof value === "object" && value !== null;
}
