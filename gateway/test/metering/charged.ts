import type { Charged } from "../../src/inference/stream/answer-writer.ts";
import type { Tap } from "../../src/inference/stream/tap.ts";
import { usageOf } from "./prices.ts";

/** The charge to show at the end of an answer: its usage, or an estimate of nothing. */
export function chargedOf({ reported }: Pick<Tap, "reported">, costNanoUsd: number): Charged {
  const { usage } = reported();
  const isEstimated = typeof usage !== "object";
  return { usage: isEstimated ? usageOf({}) : usage, costNanoUsd, isEstimated };
}

/** Removes an estimated usage from the end of an answer's text. */
export function withoutEstimate(text: string): string {
  return text.replace(/,?"usage":\{(?:[^{}]|\{[^{}]*\})*"estimated":true\}(?=\}$)/, "");
}
