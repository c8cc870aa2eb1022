import type { EmbeddingPrice } from "@inference/protocol/model";
import { chargeForUsage, chargeToNanoUsdUp } from "./charge.ts";
import { isNothingDelivered } from "./quote.ts";
import type { TokenQuote } from "./quote-text.ts";

export type EmbeddingTerms = {
  snapshotId: string;
  price: EmbeddingPrice;
  /** The bound over all inputs. */
  promptTokens: number;
};

export function quoteEmbedding(request: EmbeddingTerms): TokenQuote {
  const { price, promptTokens } = request;
  const maxNanoUsd = chargeToNanoUsdUp(BigInt(promptTokens) * price.input);
  return {
    snapshotId: request.snapshotId,
    bound: { promptTokens, completionTokens: 0 },
    maxNanoUsd,
    flatNanoUsd: null,
    chargeForUsage: (usage) => chargeForUsage(price, usage),
    chargeForDelivered: (delivered) => (isNothingDelivered(delivered) ? 0 : maxNanoUsd),
    chargeForPrompt: () => maxNanoUsd,
    affordableTokens: () => null,
  };
}
