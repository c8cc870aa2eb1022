import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { asObject } from "../json-object.ts";
import type { TokenBound } from "./bound.ts";

/**
 * The usage that a provider's answer reports. Text and embeddings are measured in tokens, transcriptions in time, and
 * images and speech in units known before.
 */
export type TokenUsage = {
  /** Includes the two cache counts. */
  promptTokens: number;
  /** Over all choices, reasoning included. */
  completionTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  /** The duration of transcribed audio, in milliseconds. It has no tokens. */
  audioMs?: number;
};

/**
 * The usage that a provider reported: `missing` if there is nothing to price, `malformed` if it cannot be true. Both
 * are an unknown usage to a charge; only the second raises an alert. Zero is zero, not missing.
 */
export type UsageReading = TokenUsage | "missing" | "malformed";

/** All that an answer reported about its usage. */
export type ReportedUsage = {
  /** The last report of the answer. */
  usage: UsageReading;
  /** Whether any usage was malformed, even if a later one counts. */
  malformedUsage: boolean;
  /** A usage that counts more than the delivered answer, such as one after its end. A loss, and never charged. */
  beyond?: TokenUsage;
  /** The cost of the answer by the provider's word. It is compared with our prices, and never charged. */
  costNanoUsd?: NanoUsd;
};

/** The usage of an answer that reports it once. */
export function reportedOnce(usage: UsageReading): ReportedUsage {
  return { usage, malformedUsage: usage === "malformed" };
}

export const nothingReported = reportedOnce("missing");

/**
 * Checks a reported usage against the content of the answer: a usage without completion tokens cannot be true if there
 * is content, unless the request can have no completion.
 */
export function besideContent(
  reported: ReportedUsage,
  bound: TokenBound | undefined,
  hasContent: () => boolean,
): ReportedUsage {
  const { usage } = reported;
  const isNone = typeof usage === "object" && usage.completionTokens === 0 && (bound?.completionTokens ?? 0) > 0;
  return isNone && hasContent() ? reportedOnce("malformed") : reported;
}

/**
 * The cost that an answer, or an event of it, names in dollars: `usage.cost` (OpenRouter), `cost`, or the sum of
 * `cost.usd` and `cost.diem` (Venice, by what paid it; a diem is a dollar). Empty if it names none that can be.
 */
export function reportedCost({ cost, usage }: Readonly<Record<string, unknown>>): { costNanoUsd?: NanoUsd } {
  const named = asObject(usage)?.cost ?? cost;
  const parts = asObject(named);
  const usd = parts === undefined ? named : Number(parts.usd ?? 0) + Number(parts.diem ?? 0);
  if (typeof usd !== "number" || !(usd >= 0 && usd * 1e9 <= MAX_NANO_USD)) return {};
  return { costNanoUsd: Math.round(usd * 1e9) };
}

/** The members of an answer that may have its usage. */
export type UsageMembers = { usage?: unknown; duration?: unknown };

/** The usage of an answer: its tokens, or of a transcription its duration. */
export function readUsage({ usage, duration }: UsageMembers, bound?: TokenBound): UsageReading {
  return bound?.audioMs === undefined ? parseUsage(usage, bound) : parseDuration(asObject(usage)?.seconds ?? duration);
}

/** @param seconds `usage.seconds` (OpenAI), else `duration` (OpenAI, Venice): a number, or its text. */
function parseDuration(seconds: unknown): UsageReading {
  if (seconds == null) return "missing";
  const audioMs = Math.round(Number(seconds) * 1000);
  const isDuration = typeof seconds === "number" || (typeof seconds === "string" && seconds.trim() !== "");
  // Audio that was transcribed has a duration.
  if (!isDuration || !(audioMs > 0 && audioMs <= ABSURD_AUDIO_MS)) return "malformed";
  return { ...noTokens, audioMs };
}

export const noTokens = {
  promptTokens: 0,
  completionTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};
/** 24 days. */
const ABSURD_AUDIO_MS = 2 ** 31;

/** No request uses this many tokens. */
const ABSURD_TOKENS = 2 ** 31;
/** Providers count a little differently from one another, and bill some tokens nobody asked for, but not this much. */
const ABSURD_FACTOR = 16;
const ABSURD_MARGIN_TOKENS = 1_000_000;

/**
 * @param value the answer's `usage`.
 * @param bound the request's bound: a count far beyond it is absurd. One a little beyond it is believed, and is a loss
 * of ours.
 */
export function parseUsage(value: unknown, bound?: TokenBound): UsageReading {
  if (value == null) return "missing";
  const usage = asObject(value);
  if (usage === undefined) return "malformed";
  if (usage.prompt_tokens == null && usage.completion_tokens == null) return "missing";
  const prompt = asObject(usage.prompt_tokens_details ?? {});
  const completion = asObject(usage.completion_tokens_details ?? {});
  if (prompt === undefined || completion === undefined) return "malformed";

  const promptTokens = count(usage.prompt_tokens);
  // Embeddings have no completion, and may leave the count out. A count missing from another answer is unknown.
  const completionTokens = count(usage.completion_tokens ?? (bound?.completionTokens === 0 ? 0 : undefined));
  const cacheReadTokens = count(prompt.cached_tokens ?? 0);
  const cacheWriteTokens = count(prompt.cache_creation_input_tokens ?? prompt.cache_write_tokens ?? 0);
  const reasoningTokens = count(completion.reasoning_tokens ?? 0);
  if (
    promptTokens === undefined ||
    completionTokens === undefined ||
    cacheReadTokens === undefined ||
    cacheWriteTokens === undefined ||
    reasoningTokens === undefined ||
    cacheReadTokens + cacheWriteTokens > promptTokens ||
    reasoningTokens > completionTokens
  ) {
    return "malformed";
  }
  if (isAbsurd(promptTokens, bound?.promptTokens) || isAbsurd(completionTokens, bound?.completionTokens))
    return "malformed";
  return { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function isAbsurd(tokens: number, bound: number | undefined): boolean {
  if (tokens > ABSURD_TOKENS) return true;
  return bound !== undefined && bound > 0 && tokens > bound * ABSURD_FACTOR + ABSURD_MARGIN_TOKENS;
}
