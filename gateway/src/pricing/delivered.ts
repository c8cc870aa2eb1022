import type { Delivered } from "./quote.ts";
import { tokensOf } from "./token-estimate.ts";

/**
 * The tokens to charge for what was delivered; 0 if nothing was. Not less than what a provider's tokenizer counts, as
 * far as `token-estimate.ts` can say; and not less than the events, for some providers send each token in one.
 */
export function deliveredTokens({ bytes, events, halfTokens = 2 * bytes }: Delivered): number {
  return bytes === 0 && events === 0 ? 0 : Math.max(events, tokensOf(halfTokens));
}
