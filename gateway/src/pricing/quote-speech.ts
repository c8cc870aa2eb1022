import type { SpeechPrice } from "@inference/protocol/model";
import { chargeToNanoUsdUp, speechAtto } from "./charge.ts";
import { isNothingDelivered, type Quote } from "./quote.ts";
import { quoteFlat } from "./quote-flat.ts";

export type SpeechTerms = {
  snapshotId: string;
  price: SpeechPrice;
  /**
   * The input's UTF-16 units: whether a provider counts those or code points is not documented, and there are never
   * fewer units.
   */
  characters: number;
};

/** Speech of which anything was delivered costs all of it. */
export function quoteSpeech(request: SpeechTerms): Quote {
  const atto = speechAtto(request.price, request.characters);
  return quoteFlat(request.snapshotId, atto, (delivered) =>
    isNothingDelivered(delivered) ? 0 : chargeToNanoUsdUp(atto),
  );
}
