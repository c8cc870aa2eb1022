/**
 * A model the gateway can price and serve, and its prices. Prices are exact: atto-dollars (1e-18 USD) per unit, bigint.
 * A missing price is not zero: its axis is absent, and requests that need it are refused.
 */
export type AttoUsd = bigint;

export type TokenRates = {
  /** Per prompt token. */
  input: AttoUsd;
  /** Per completion token, reasoning included. */
  output: AttoUsd;
  /** Per prompt token read from the provider's cache; absent: priced as input. */
  cacheRead?: AttoUsd;
  /** Per prompt token written to the provider's cache; absent: priced as input. */
  cacheWrite?: AttoUsd;
};

export type TextPrice = {
  kind: "text";
  rates: TokenRates;
  /** With more prompt tokens than the threshold, these rates apply to the whole request. */
  extended?: { thresholdTokens: number; rates: TokenRates };
};
export type EmbeddingPrice = { kind: "embedding" /** Per prompt token. */; input: AttoUsd };
export type SpeechPrice = { kind: "speech" /** Per character of input. */; character: AttoUsd };
export type ImageTable = {
  /** Per image, by resolution; the key `*` is the flat price of a model without resolutions. */
  byResolution: Record<string, AttoUsd>;
  /** Per image, by resolution and quality. It takes precedence over `byResolution`. */
  byQuality?: Record<string, Record<string, AttoUsd>>;
};
export type ImagePrice = { kind: "image" } & ImageTable;
/** Per edit of one image. */
export type EditPrice = { kind: "edit" } & ImageTable;
/** Per enlarged image, by factor: `2x`, `4x`. */
export type UpscalePrice = { kind: "upscale" } & ImageTable;
export type TranscriptionPrice = { kind: "transcription" /** Per second of audio. */; second: AttoUsd };
export type Price =
  | TextPrice
  | EmbeddingPrice
  | SpeechPrice
  | TranscriptionPrice
  | ImagePrice
  | EditPrice
  | UpscalePrice;

export type Model = {
  id: string;
  created: number;
  ownedBy: string;
  price: Price;
  /** Text: the maximum tokens of prompt and completion together. Embeddings: the maximum tokens of an input. */
  contextTokens: number | null;
  /** Text: the maximum tokens of a completion. */
  maxOutputTokens: number | null;
  /** Other information of the catalogue, shown unchanged: capabilities, voices, resolutions. */
  features: ModelFeatures;
};

export type ModelFeatures = {
  name?: string;
  supportsTools?: boolean;
  supportsVision?: boolean;
  supportsAudio?: boolean;
  supportsVideo?: boolean;
  supportsReasoning?: boolean;
  supportsResponseSchema?: boolean;
  supportsLogProbs?: boolean;
  supportsTeeAttestation?: boolean;
  reasoningEffortOptions?: readonly string[];
  /** The most images of one request. */
  maxImages?: number;
  quantization?: string;
  /** `private`: the provider keeps nothing of a request. `anonymized`: a third party serves it without the caller's name. */
  privacy?: string;
  /** Regions, as the provider names them, from which the model cannot be called. */
  regionRestrictions?: readonly string[];
  /** The date from which the model is not served, and the model in its place. */
  removesAt?: string;
  replacementModel?: string;
  defaultResolution?: string;
  qualities?: readonly string[];
  defaultQuality?: string;
  promptCharacterLimit?: number;
  voices?: readonly string[];
  defaultVoice?: string;
  formats?: readonly string[];
  defaultFormat?: string;
};

/** The models and prices at one time. A hold and its settlement use the same snapshot. */
export type PriceSnapshot = {
  /** A digest of the prices: the same prices have the same id. */
  id: string;
  atMs: number;
  models: ReadonlyMap<string, Model>;
};
