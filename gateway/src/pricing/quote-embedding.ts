import type { EmbeddingPrice } from "@inference/protocol/model";
import { chargeForUsage, chargeToNanoUsdUp } from "./charge.ts";
import { deliveredTokens } from "./delivered.ts";
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
    chargeForDelivered: (delivered) => (deliveredTokens(delivered) === 0 ? 0 : maxNanoUsd),
    chargeForPrompt: () => maxNanoUsd,
    affordableTokens: () => null,
  };
}
