import { FAULT_PREFIX, FAULTS } from "./faults.ts";
import type { PriceSpec } from "./pricing.ts";

export type ModelType = "asr" | "embedding" | "image" | "inpaint" | "text" | "tts" | "upscale" | "video";

/** A declared model. The catalogue lists one with `pricing: null` without a price. */
export interface ModelSeed {
  readonly id: string;
  readonly type: ModelType;
  readonly pricing: PriceSpec | null;
  readonly context?: number;
  readonly maxCompletion?: number;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly isFor?: "code" | "reasoning";
}

function text(id: string, pricing: PriceSpec | null, more: Partial<ModelSeed> = {}): ModelSeed {
  return { id, type: "text", pricing, context: 131_072, maxCompletion: 16_384, ...more };
}

const UPSCALE = { "2x": "0.02", "4x": "0.08" };
const IMAGE_CONSTRAINTS = {
  promptCharacterLimit: 1500,
  steps: { default: 20, max: 50 },
  widthHeightDivisor: 8,
};
const RESOLUTIONS = ["1K", "2K", "4K"];
const QUALITIES = ["low", "medium", "high"];

function image(id: string, pricing: PriceSpec, constraints: Readonly<Record<string, unknown>> = {}): ModelSeed {
  return { id, type: "image", pricing, spec: { constraints: { ...IMAGE_CONSTRAINTS, ...constraints } } };
}

function speech(id: string, price: string, voices: string[], formats: string[]): ModelSeed {
  const spec = {
    voices,
    default_voice: voices[0],
    supported_formats: formats,
    default_format: formats[0],
    voice_cloning: false,
  };
  return { id, type: "tts", pricing: { input: price }, spec };
}

const VOICES = ["af_sky", "af_bella", "am_adam", "bf_emma"];
const FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"];

/** Models for people: invented names, with the shapes and prices of real models. */
const PUBLIC: readonly ModelSeed[] = [
  text("alder-4b", { input: "0.05", output: "0.15" }, { context: 32_768, maxCompletion: 8_192 }),
  text("alder-27b", { input: "0.15", output: "0.6", cache_input: "0.04" }),
  text("alder-120b", { input: "0.6", output: "2.4", cache_input: "0.15" }),
  text(
    "corrie-code-32b",
    { input: "0.25", output: "1", cache_input: "0.06" },
    { context: 262_144, maxCompletion: 32_768, isFor: "code" },
  ),
  text("tarn-reason-70b", { input: "0.55", output: "2.2" }, { maxCompletion: 32_768, isFor: "reasoning" }),
  text(
    "fellside-1",
    {
      input: "2.5",
      output: "12.5",
      cache_input: "0.25",
      extended: { context_token_threshold: 200_000, input: "5", output: "18.75", cache_input: "0.5" },
    },
    { context: 1_000_000, maxCompletion: 65_536 },
  ),
  { id: "hawthorn-embed", type: "embedding", pricing: { input: "0.02", output: "0.02" }, spec: embedding(1024, true) },
  speech("siskin-speech", "15", VOICES, FORMATS),
  { id: "nuthatch-listen", type: "asr", pricing: { per_audio_second: "0.0001" } },
  image("heath-image", { generation: "0.04", upscale: UPSCALE }),
  image(
    "heath-image-pro",
    { resolutions: { "1K": "0.09", "2K": "0.13", "4K": "0.24" }, upscale: UPSCALE },
    { resolutions: RESOLUTIONS, defaultResolution: "1K" },
  ),
  { id: "heath-edit", type: "inpaint", pricing: { inpaint: "0.05" } },
];

/** Models for tests: every shape of price and every kind of model. */
const FOR_TESTS: readonly ModelSeed[] = [
  text("sim-small", { input: "0.15", output: "0.6" }),
  text("sim-large", { input: "2.5", output: "10", cache_input: "0.5" }, { context: 262_144, maxCompletion: 32_768 }),
  text("sim-cached", { input: "1.54", output: "4.84", cache_input: "0.29", cache_write: "1.925" }),
  text(
    "sim-extended",
    {
      input: "2.5",
      output: "15",
      cache_input: "0.25",
      extended: { context_token_threshold: 200_000, input: "5", output: "22.5", cache_input: "0.5" },
    },
    { context: 1_000_000, maxCompletion: 65_536 },
  ),
  text("sim-extended-low", {
    input: "1",
    output: "4",
    extended: { context_token_threshold: 1000, input: "3", output: "9" },
  }),
  text("sim-free", { input: "0", output: "0" }),
  text("sim-noisy", { input: "0.009200000000000002", output: "0.11500000000000002" }),
  text("sim-fine", { input: "0.26666667", output: "1.06666667" }, { spec: { privacy: "anonymized" } }),
  text(
    "sim-dear",
    {
      input: "30",
      output: "180",
      extended: { context_token_threshold: 272_000, input: "60", output: "337.5" },
    },
    { context: 1_050_000, maxCompletion: 128_000 },
  ),
  text("sim-reasoning", { input: "0.6", output: "2.4" }, { isFor: "reasoning" }),
  text("sim-tiny-context", { input: "0.1", output: "0.2" }, { context: 512, maxCompletion: 128 }),
  text("sim-unpriced", null),
  {
    id: "sim-embedding",
    type: "embedding",
    pricing: { input: "0.0125", output: "0.0125" },
    spec: embedding(256, false),
  },
  {
    id: "sim-embedding-wide",
    type: "embedding",
    pricing: { input: "0.15", output: "0.15" },
    spec: embedding(1024, true),
  },
  speech("sim-speech", "3.5", VOICES, FORMATS),
  speech("sim-speech-hd", "187.5", ["nova", "onyx"], ["wav", "mp3", "pcm"]),
  { id: "sim-transcribe", type: "asr", pricing: { per_audio_second: "0.00003148" } },
  { id: "sim-edit", type: "inpaint", pricing: { inpaint: "0.04" } },
  {
    id: "sim-edit-sizes",
    type: "inpaint",
    pricing: {
      inpaint: "0.07",
      resolutions: { "1K": "0.07", "2K": "0.1" },
      quality: { "1K": { low: "0.05", medium: "0.07" }, "2K": { low: "0.07", medium: "0.1" } },
      inputImages: { included: 0, additional: "0.0115" },
    },
    spec: { constraints: { promptCharacterLimit: 1500, qualities: ["low", "medium"], defaultQuality: "medium" } },
  },
  { id: "sim-upscaler", type: "upscale", pricing: { generation: "0.01", upscale: UPSCALE } },
  image("sim-image", { generation: "0.01", upscale: UPSCALE }),
  image(
    "sim-image-sizes",
    { resolutions: { "1K": "0.17", "2K": "0.23", "4K": "0.4" }, upscale: UPSCALE },
    { resolutions: RESOLUTIONS, defaultResolution: "1K" },
  ),
  image(
    "sim-image-quality",
    {
      resolutions: { "1K": "0.27", "2K": "0.51", "4K": "0.84" },
      quality: {
        "1K": { low: "0.02", medium: "0.08", high: "0.26" },
        "2K": { low: "0.04", medium: "0.13", high: "0.51" },
        "4K": { low: "0.06", medium: "0.22", high: "0.84" },
      },
      upscale: UPSCALE,
    },
    { resolutions: RESOLUTIONS, defaultResolution: "1K", qualities: QUALITIES, defaultQuality: "high" },
  ),
];

function embedding(embeddingDimensions: number, supportsCustomDimensions: boolean): Record<string, unknown> {
  return { embeddingDimensions, maxInputTokens: 8192, supportsCustomDimensions };
}

/** Models of other kinds. They are listed and have no route. */
const LISTED_ONLY: readonly ModelSeed[] = [{ id: "sim-video", type: "video", pricing: null }];

function faultModel(name: string): ModelSeed {
  const id = FAULT_PREFIX + name;
  const stage = FAULTS[name]?.stage;
  if (stage === "image") return image(id, { generation: "0.01", upscale: UPSCALE });
  if (stage === "speech") return speech(id, "3.5", VOICES, FORMATS);
  return text(id, { input: "1", output: "2" }, { maxCompletion: 4096 });
}

export const MODEL_SEEDS: readonly ModelSeed[] = [
  ...PUBLIC,
  ...FOR_TESTS,
  ...LISTED_ONLY,
  ...Object.keys(FAULTS).map((name) => faultModel(name)),
];

const PUBLIC_IDS: ReadonlySet<string> = new Set(PUBLIC.map(({ id }) => id));

/** Whether the model is in the list for people. */
export function isPublic(id: string): boolean {
  return PUBLIC_IDS.has(id);
}

export const TRAITS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: {
    default: "alder-120b",
    fastest: "alder-4b",
    default_code: "corrie-code-32b",
    default_reasoning: "tarn-reason-70b",
  },
  image: { default: "heath-image", fastest: "heath-image", highest_quality: "heath-image-pro" },
  embedding: { default: "hawthorn-embed" },
  tts: { default: "siskin-speech" },
};

export const COMPATIBILITY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: { "gpt-4o": "alder-120b", "gpt-4o-mini": "alder-27b" },
  image: { "dall-e-3": "heath-image" },
  embedding: { "text-embedding-ada-002": "hawthorn-embed" },
  tts: { "tts-1": "siskin-speech" },
};

/** The charge for a model without a listed price: unlisted is not free. */
export const UNLISTED_PRICE: PriceSpec = { input: "1", output: "2" };
export const IMAGE_STYLES: readonly string[] = [
  "3D Model",
  "Analog Film",
  "Anime",
  "Cinematic",
  "Line Art",
  "Pixel Art",
];
