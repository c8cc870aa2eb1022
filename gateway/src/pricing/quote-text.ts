import type { TextPrice } from "@inference/protocol/model";
import { type NanoUsd, nanoUsdToAtto } from "@inference/protocol/money";
import { reachableTiers, type TokenBound, tiersAffordableTokens, tiersMaxAtto } from "./bound.ts";
import { chargeForUsage, chargeToNanoUsdUp } from "./charge.ts";
import { type Delivered, deliveredTokens, type Quote } from "./quote.ts";

export type TextTerms = {
  snapshotId: string;
  price: TextPrice;
  /** The prompt's bound. */
  promptTokens: number;
  /** `n`. */
  choices: number;
  /** The `max_tokens` that is sent. */
  maxTokens: number;
  /** The model's own maximum: what `affordableTokens` never exceeds. */
  modelMaxTokens: number;
  /** The client's name for the output limit. */
  outputField?: string | undefined;
};

/** A quote whose cost is bounded by tokens; the bound also tells a plausible usage from an absurd one. */
export type TokenQuote = Quote & { bound: TokenBound };

export function quoteText(request: TextTerms): TokenQuote {
  const { price, choices } = request;
  const bound = { promptTokens: request.promptTokens, completionTokens: choices * request.maxTokens };
  const tiers = reachableTiers(price, bound.promptTokens);
  const maxNanoUsd = chargeToNanoUsdUp(tiersMaxAtto(tiers, bound.completionTokens));
  return {
    snapshotId: request.snapshotId,
    outputField: request.outputField,
    bound,
    maxNanoUsd,
    flatNanoUsd: null,
    chargeForUsage: (usage) => chargeForUsage(price, usage),
    chargeForDelivered(delivered: Delivered): NanoUsd {
      const tokens = deliveredTokens(delivered);
      if (tokens === 0) return 0;
      const estimateNanoUsd = chargeToNanoUsdUp(tiersMaxAtto(tiers, tokens));
      const { atLeast } = delivered;
      const leastNanoUsd = atLeast === undefined ? 0 : chargeForUsage(price, atLeast);
      return Math.min(maxNanoUsd, Math.max(estimateNanoUsd, leastNanoUsd));
    },
    chargeForPrompt: () => Math.min(maxNanoUsd, chargeToNanoUsdUp(tiersMaxAtto(tiers, 0))),
    affordableTokens(availableNanoUsd: NanoUsd): number {
      const tokens = tiersAffordableTokens(tiers, nanoUsdToAtto(Math.max(0, availableNanoUsd)));
      if (tokens === undefined) return 0;
      if (tokens === null) return request.modelMaxTokens;
      return Math.min(request.modelMaxTokens, Number(tokens / BigInt(choices)));
    },
  };
}
