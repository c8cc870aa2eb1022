import type { NanoUsd } from "@inference/protocol/money";
import type { TokenBound } from "./bound.ts";

/**
 * What a provider's answer says it used. Text and embeddings are measured in tokens; images and speech in units known
 * before.
 */
export type TokenUsage = {
  /** Includes the two cache counts. */
  promptTokens: number;
  /** Over all choices, reasoning included. */
  completionTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
};

/** What was delivered to the client of an answer whose usage is unknown. */
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
   * The prompt's bound and what was delivered, at most the maximum: the charge of an answer whose usage is unknown. Of
   * images it is the price of those that came, where some were blocked at most of all but one. Nothing delivered is
   * nothing charged.
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
  /** The largest `max_tokens` that an amount pays for with this prompt; null if tokens do not bound the cost. */
  affordableTokens(availableNanoUsd: NanoUsd): number | null;
};
