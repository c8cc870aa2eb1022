import type { SpeechPrice } from "@inference/protocol/model";
import { speechAtto } from "./charge.ts";
import type { Quote } from "./quote.ts";
import { quoteFlat } from "./quote-flat.ts";

/** Whether a provider counts UTF-16 units or code points is not documented; there are never fewer UTF-16 units. */
export function speechCharacters(input: string): number {
  return input.length;
}

export function quoteSpeech(request: { snapshotId: string; price: SpeechPrice; input: string }): Quote {
  return quoteFlat(request.snapshotId, speechAtto(request.price, speechCharacters(request.input)));
}
