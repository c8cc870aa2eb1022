import type { Quote } from "./quote.ts";
import { type EmbeddingTerms, quoteEmbedding } from "./quote-embedding.ts";
import { type ImageTerms, quoteImage } from "./quote-image.ts";
import { quoteSpeech, type SpeechTerms } from "./quote-speech.ts";
import { quoteText, type TextTerms } from "./quote-text.ts";

/** What decides the price of a request. */
export type QuoteTerms =
  | ({ kind: "text" } & TextTerms)
  | ({ kind: "embedding" } & EmbeddingTerms)
  | ({ kind: "image" } & ImageTerms)
  | ({ kind: "speech" } & SpeechTerms);

/** Throws `unpriced_option` for an image without a price. */
export function makeQuote(terms: QuoteTerms): Quote {
  switch (terms.kind) {
    case "text":
      return quoteText(terms);
    case "embedding":
      return quoteEmbedding(terms);
    case "image":
      return quoteImage(terms);
    case "speech":
      return quoteSpeech(terms);
  }
}
