import { errorBody } from "@inference/protocol/errors";
import { joinBytes } from "../../src/bytes.ts";
import type { SseFault, SseTapOptions, SseTapResult } from "../../src/inference/stream/sse-tap.ts";
import { createSseTap } from "../../src/inference/stream/sse-tap.ts";
import { makeSecretFilter } from "../../src/upstream/secret-writings.ts";

/** Streams for tests, and the output of a tap for them. */
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

const chunkHead = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_760_000_000, model: "m" };

export function deltaJson(delta: object, finish_reason: string | null = null): string {
  return JSON.stringify({ ...chunkHead, choices: [{ index: 0, delta, finish_reason, logprobs: null }] });
}

export const content = (text: string): string => deltaJson({ content: text });

export const usageCounts = {
  prompt_tokens: 339,
  completion_tokens: 227,
  total_tokens: 566,
  prompt_tokens_details: { cached_tokens: 128, cache_creation_input_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 32 },
};

export function usageEvent(usage: unknown = usageCounts): string {
  return JSON.stringify({ ...chunkHead, choices: [], usage, cost: { usd: 0, diem: 0.00136 }, provider: "secret" });
}

export const event = (data: string): string => `data: ${data}\n\n`;
export const events = (...data: string[]): string => data.map(event).join("");
export const DONE = event("[DONE]");

/** The client's form of `usageEvent()`, with a cost of 1460740. */
export const shownUsage = event(
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[],' +
    '"usage":{"prompt_tokens":339,"completion_tokens":227,"total_tokens":566,' +
    '"prompt_tokens_details":{"cached_tokens":128,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":32},' +
    '"cost":0.00146074,"cost_nano_usd":1460740}}',
);

/** The same if no usage came that can be charged. */
export const shownEstimate = event(
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[],' +
    '"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,' +
    '"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0},' +
    '"cost":0.0000114,"cost_nano_usd":11400,"estimated":true}}',
);

export const noSecrets = makeSecretFilter([]);

export const faultBody = (fault: SseFault) => errorBody({ code: "upstream_error", message: `fault: ${fault.kind}` });
export const shownFault = (kind: SseFault["kind"]): string =>
  event(JSON.stringify(errorBody({ code: "upstream_error", message: `fault: ${kind}` })));

export type Run = { text: string; result: SseTapResult };

const estimate = {
  promptTokens: 100,
  completionTokens: 7,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** The charge that a tap shows to a client that asked for usage. */
export const charged: SseTapOptions["charged"] = ({ usage }) =>
  typeof usage === "object"
    ? { usage, costNanoUsd: 1_460_740, isEstimated: false }
    : { usage: estimate, costNanoUsd: 11_400, isEstimated: true };

/** Sends chunks through a tap, to the end of the stream. */
export function runTap(chunks: readonly Uint8Array[], options: Partial<SseTapOptions> = {}): Run {
  const tap = createSseTap({
    includeUsage: false,
    charged,
    errorBody: faultBody,
    secrets: noSecrets,
    ...options,
  });
  const out: Uint8Array[] = [];
  const keep = (bytes: Uint8Array | undefined): void => {
    // A copy: what a tap hands out may be a view of a chunk.
    if (bytes !== undefined) out.push(bytes.slice());
  };
  for (const chunk of chunks) keep(tap.push(chunk));
  keep(tap.end());
  return { text: textOf(joinBytes(out)), result: tap.result() };
}
