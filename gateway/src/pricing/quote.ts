import { fail } from "@inference/protocol/errors";
import type {
  AttoUsd,
  EditPrice,
  EmbeddingPrice,
  ImagePrice,
  ImageTable,
  SpeechPrice,
  TextPrice,
  TranscriptionPrice,
  UpscalePrice,
} from "@inference/protocol/model";
import { type NanoUsd, nanoUsdToAtto } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import { dearest, reachableTiers, type TokenBound, tiersAffordableTokens, tiersMaxAtto } from "./bound.ts";
import { audioAtto, chargeForUsage, chargeToNanoUsdUp, imageAtto, speechAtto } from "./charge.ts";
import type { TokenUsage } from "./usage.ts";

/** The delivered content of an answer whose usage is unknown. */
export type Delivered = {
  /** The UTF-8 bytes of its content. */
  bytes: number;
  /** Its content events. An image that came whole is one. */
  events: number;
  /** The provider says that it blocked at least one of the images that were asked for, and does not bill it. */
  isBlocked?: boolean;
  /** The usage that the provider reported before the end. */
  atLeast?: TokenUsage;
};

export const nothingDelivered: Delivered = { bytes: 0, events: 0 };

export function isNothingDelivered({ bytes, events }: Delivered): boolean {
  return bytes === 0 && events === 0;
}

/**
 * Estimates the tokens of delivered content. Some providers send each token in an event of its own, so there are at
 * least as many tokens as events. How far the estimate is off: `docs/metering.md`.
 */
export function deliveredTokens({ bytes, events }: Delivered): number {
  return Math.max(events, Math.ceil(bytes / 3));
}

/** The maximum cost and the charges of one request, at the prices of one snapshot. */
export type Quote = {
  snapshotId: string;
  /** The maximum tokens, if they bound the cost. Also separates a plausible usage from an absurd one. */
  bound?: TokenBound;
  /** The request's maximum cost, which is reserved. */
  maxNanoUsd: NanoUsd;
  /** Exact, rounded up once. Above the maximum if a provider bills more than its own rules allow. */
  chargeForUsage(usage: TokenUsage): NanoUsd;
  /**
   * The prompt's bound and what was delivered, at most the maximum: the charge of an answer whose usage is unknown.
   * Images are charged if they came; if the provider blocked some, at most all but one. Nothing delivered is nothing
   * charged.
   */
  chargeForDelivered(delivered: Delivered): NanoUsd;
  /**
   * The prompt's bound alone, at most the maximum: the charge of a stream whose client left before anything of it came.
   * The provider has read the prompt by then, and may bill it.
   */
  chargeForPrompt(): NanoUsd;
  /** The price of a complete answer without usage (images, speech); null if usage decides. */
  flatNanoUsd: NanoUsd | null;
  /** The client's name for the output limit; `max_tokens` if absent. */
  outputField?: string | undefined;
  /** The answers that share the output limit's bound; 1 if absent. */
  choices?: number;
  /** The largest `max_tokens` that an amount pays for with this prompt; null if tokens do not bound the cost. */
  affordableTokens(availableNanoUsd: NanoUsd): number | null;
};

/** The amount to hold before the answer, and the values that an error names. */
export type HoldTerms = Pick<Quote, "maxNanoUsd" | "bound" | "outputField" | "affordableTokens">;

/** The terms of a hold that covers either of two text models. */
export function holdForEither(one: HoldTerms, other: HoldTerms): HoldTerms {
  return {
    ...(one.maxNanoUsd >= other.maxNanoUsd ? one : other),
    affordableTokens: (nanoUsd) => Math.min(one.affordableTokens(nanoUsd) ?? 0, other.affordableTokens(nanoUsd) ?? 0),
  };
}

/** The terms that decide the price of a request. */
export type QuoteTerms =
  | ({ kind: "text" } & TextTerms)
  | ({ kind: "embedding" } & EmbeddingTerms)
  | ({ kind: "image" } & ImageTerms)
  | ({ kind: "speech" } & SpeechTerms)
  | ({ kind: "transcription" } & TranscriptionTerms);

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
    case "transcription":
      return quoteTranscription(terms);
  }
}

type TextTerms = {
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

/** A quote whose cost is bounded by tokens or audio; the bound also tells a plausible usage from an absurd one. */
type TokenQuote = Quote & { bound: TokenBound };

export function quoteText(request: TextTerms): TokenQuote {
  const { price, choices } = request;
  const bound = { promptTokens: request.promptTokens, completionTokens: choices * request.maxTokens };
  const tiers = reachableTiers(price, bound.promptTokens);
  const maxNanoUsd = chargeToNanoUsdUp(tiersMaxAtto(tiers, bound.completionTokens));
  return {
    snapshotId: request.snapshotId,
    outputField: request.outputField,
    choices,
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

type EmbeddingTerms = {
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

/**
 * A request whose price is known before it runs.
 *
 * @param chargeForDelivered The part of the price that is owed for what was delivered.
 */
function quoteFlat(snapshotId: string, atto: AttoUsd, chargeForDelivered: (delivered: Delivered) => NanoUsd): Quote {
  const flatNanoUsd = chargeToNanoUsdUp(atto);
  return {
    snapshotId,
    maxNanoUsd: flatNanoUsd,
    flatNanoUsd,
    chargeForUsage: () => flatNanoUsd,
    chargeForDelivered,
    chargeForPrompt: () => flatNanoUsd,
    affordableTokens: () => null,
  };
}

type ImageTerms = {
  snapshotId: string;
  price: ImagePrice | EditPrice | UpscalePrice;
  /** `*` for a model without resolutions; undefined where the provider chooses and the highest price counts. */
  resolution: string | undefined;
  /** Undefined where the model has no qualities, or the provider chooses and the highest price counts. */
  quality: string | undefined;
  /** Images made, each billed as one. */
  count: number;
};

/** Images cost their number: what is owed are those that came whole, each an event. */
export function quoteImage(request: ImageTerms): Quote {
  const { price, resolution, quality, count } = request;
  const candidates = resolution === undefined ? Object.keys(price.byResolution) : [resolution];
  const prices = candidates.flatMap((candidate) => imagePrices(price, candidate, quality));
  if (prices.length === 0) fail("unpriced_option", "This resolution and quality have no price for this model.");
  const each = dearest(prices);
  return quoteFlat(request.snapshotId, each * BigInt(count), ({ events, isBlocked = false }) =>
    chargeToNanoUsdUp(each * BigInt(Math.min(events, isBlocked ? count - 1 : count))),
  );
}

function imagePrices(price: ImageTable, resolution: string, quality: string | undefined): AttoUsd[] {
  const chosen = imageAtto(price, resolution, quality);
  const others = quality === undefined ? Object.values(ownValue(price.byQuality, resolution) ?? {}) : [];
  return chosen === undefined ? others : [chosen, ...others];
}

type SpeechTerms = {
  snapshotId: string;
  price: SpeechPrice;
  /**
   * The input's UTF-16 units: whether a provider counts those or code points is not documented, and there are never
   * fewer units.
   */
  characters: number;
};

/** Speech costs its full price as soon as a byte was delivered. */
export function quoteSpeech(request: SpeechTerms): Quote {
  const atto = speechAtto(request.price, request.characters);
  return quoteFlat(request.snapshotId, atto, (delivered) =>
    isNothingDelivered(delivered) ? 0 : chargeToNanoUsdUp(atto),
  );
}

type TranscriptionTerms = {
  snapshotId: string;
  price: TranscriptionPrice;
  /** The length of the audio by its own frames, in milliseconds. */
  audioMs: number;
};

/** Providers round up to the next second, and count the padding of an encoder. */
const AUDIO_MARGIN_MS = 1_000;

/** Audio costs its reported duration. Without a report it costs its own length as soon as a transcript came. */
export function quoteTranscription({ snapshotId, price, audioMs }: TranscriptionTerms): TokenQuote {
  const costOf = (ms: number): NanoUsd => chargeToNanoUsdUp(audioAtto(price, ms));
  return {
    snapshotId,
    bound: { promptTokens: 0, completionTokens: 0, audioMs },
    maxNanoUsd: costOf(Math.ceil(audioMs / 1000) * 1000 + AUDIO_MARGIN_MS),
    flatNanoUsd: null,
    chargeForUsage: (usage) => costOf(usage.audioMs ?? 0),
    chargeForDelivered: (delivered) => (isNothingDelivered(delivered) ? 0 : costOf(audioMs)),
    chargeForPrompt: () => costOf(audioMs),
    affordableTokens: () => null,
  };
}
