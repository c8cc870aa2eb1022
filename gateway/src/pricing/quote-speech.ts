import type { SpeechPrice } from "@inference/protocol/model";
import { chargeToNanoUsdUp, speechAtto } from "./charge.ts";
import { deliveredTokens } from "./delivered.ts";
import type { Quote } from "./quote.ts";
import { quoteFlat } from "./quote-flat.ts";

/**
 * Speech of which anything was delivered costs all of it.
 *
 * @param request.characters The input's UTF-16 units: whether a provider counts those or code points is not documented,
 *   and there are never fewer units.
 */
export function quoteSpeech(request: { snapshotId: string; price: SpeechPrice; characters: number }): Quote {
  const atto = speechAtto(request.price, request.characters);
  return quoteFlat(request.snapshotId, atto, (delivered) =>
    deliveredTokens(delivered) === 0 ? 0 : chargeToNanoUsdUp(atto),
  );
}
