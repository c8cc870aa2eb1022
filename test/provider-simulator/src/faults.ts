import * as errors from "./errors.ts";
import type { Usage } from "./pricing.ts";
import { NORMAL_SHAPE, type StreamShape } from "./stream-shape.ts";

/**
 * A request meets a fault through a model called `fault-<name>`, through the marker `[[fault=<name>]]` in its text, or
 * through a fault placed on its model or path by the control API. The README describes each fault.
 */
export interface Fault {
  /** The place: instead of the answer, at the connection, inside the answer, in its usage, or on one route only. */
  readonly stage: "answer" | "socket" | "stream" | "usage" | "image" | "speech";
  /** The answer in place of the real one. */
  readonly answer?: errors.WireAnswer;
  /** The difference to a normal answer. */
  readonly shape?: Partial<StreamShape>;
  /** The reported usage, as JSON text. */
  readonly usage?: (usage: Usage) => string;
}

const { plainError } = errors;
/** Bytes of the one error that is too large to read. */
const LARGE_ERROR_BYTES = 10 * 1024 * 1024;

const ANSWERS: Readonly<Record<string, errors.WireAnswer>> = {
  "400-schema": errors.schemaError("type", "Invalid enum value", "invalid_union"),
  "400-openai": errors.openaiError("The messages are too long.", "messages", "context_length_exceeded"),
  "400-provider": { status: 400, body: { error: "The model refused the request.", request_id: "req-upstream-1" } },
  "401": errors.AUTHENTICATION_FAILED,
  "401-key-in-body": plainError(401, "Authentication failed for key {key}"),
  "401-model": { status: 401, body: { error: "This model is only available to Pro users", code: "PRO_ONLY_MODEL" } },
  "402-balance": plainError(402, "Insufficient USD or Diem balance to complete request. Add credits."),
  "402-key-limit": errors.USD_LIMIT_EXCEEDED,
  "402-diem-limit": errors.DIEM_LIMIT_EXCEEDED,
  "402-wallet": {
    status: 402,
    body: { error: "Payment required", code: "PAYMENT_REQUIRED", currentBalanceUsd: 0.01, suggestedTopUpUsd: 10 },
  },
  "403": plainError(403, "This model is not available in your region"),
  "403-flagged": {
    status: 403,
    body: {
      error: {
        code: 403,
        message: "The model requires moderation. Your input was flagged.",
        metadata: { reasons: ["violence"], flagged_input: "...", provider_name: "simulator" },
      },
    },
  },
  "404": errors.MODEL_NOT_FOUND,
  "409": plainError(409, "Another request is in progress"),
  "410": plainError(410, "This model has been retired and can no longer be routed"),
  "413": errors.PAYLOAD_TOO_LARGE,
  "415": plainError(415, "Unsupported media type"),
  "422": {
    status: 422,
    body: {
      error: "Your prompt violates the content policy of the provider or model",
      suggested_prompt: "A quiet harbour at dawn",
    },
  },
  // FastAPI's shape.
  "422-fields": {
    status: 422,
    body: {
      detail: [
        {
          type: "less_than_equal",
          loc: ["body", "temperature"],
          msg: "Input should be less than or equal to 2",
          input: 9,
        },
      ],
    },
  },
  "429": errors.RATE_LIMITED,
  "429-retry-after": { ...plainError(429, "The model is currently overloaded."), headers: { "retry-after": "30" } },
  // The block is over at once, because the next requests have other faults.
  "429-budget": { ...errors.errorBudgetSpent(20), headers: { "retry-after": "0" } },
  "500": errors.INFERENCE_FAILED,
  "500-large": { status: 500, body: { error: "Inference processing failed", details: "x".repeat(LARGE_ERROR_BYTES) } },
  "502": plainError(502, "The upstream model returned an error"),
  "503": plainError(503, "The model is at capacity. Please try again later."),
  "503-offline": plainError(503, "The model is currently offline"),
  "504": plainError(504, "The request took too long to process. Use stream=true for long requests."),
  "html-200": {
    status: 200,
    body: "<html><body>Welcome</body></html>",
    headers: { "content-type": "text/html; charset=utf-8" },
  },
  "204": { status: 204, body: "" },
  redirect: { status: 307, body: "", headers: { location: "http://127.0.0.1:9/api/v1/" } },
};

const SOCKET = ["hang-before-headers", "reset-before-headers", "fin-before-headers", "endless-headers"];

const half = { tokens: "half", usage: "none" } as const;
const SHAPES: Readonly<Record<string, Partial<StreamShape>>> = {
  "200-error-only": { tokens: "none", errorEvent: true, usage: "none" },
  "error-then-usage": { tokens: "none", errorEvent: true },
  "error-after-content": { ...half, errorEvent: true },
  "error-then-content": { tokens: "half", errorEvent: true, resumeAfterError: true },
  "cut-mid-stream": { ...half, ending: "rst" },
  "cut-fin": { ...half, ending: "fin" },
  "cut-before-done": { usage: "none", ending: "open" },
  stall: { ...half, ending: "stall" },
  "slow-drip": { slow: true },
  "byte-drip": { pieces: "byte", slow: true },
  "endless-body": { tokens: "endless" },
  "no-usage": { usage: "none" },
  "split-utf8": { pieces: "utf8" },
  "split-data": { pieces: "data" },
  crlf: { eol: "crlf" },
  cr: { eol: "cr" },
  "mixed-endings": { eol: "mixed" },
  bom: { bom: true },
  "no-space": { dataPrefix: "data:" },
  "multiline-data": { multiline: true },
  "many-per-chunk": { pieces: "whole" },
  "big-event": { bigEvent: true },
  comments: { comments: true },
  "done-twice": { ending: "done-twice" },
  "trailing-after-done": { ending: "done-and-more" },
  "trailing-garbage": { garbage: true },
  gzip: { gzip: true },
  remap: {},
};

function counts(prompt: number | string, completion: number | string, sum: number | string): string {
  return `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${sum}`;
}

const asText = ({ promptTokens: p, completionTokens: c }: Usage): string =>
  `{${counts(`"${p}"`, `"${c}"`, `"${p + c}"`)}}`;
/** Null for faults that report the true usage, but not only or not always. */
const USAGES: Readonly<Record<string, Fault["usage"] | null>> = {
  "usage-negative": ({ promptTokens: p, completionTokens: c }) => `{${counts(-p, -c, -p - c)}}`,
  "usage-fractional": ({ promptTokens: p, completionTokens: c }) => `{${counts(`${p}.5`, `${c}.25`, `${p + c}.75`)}}`,
  "usage-text": asText,
  "usage-nan": () => `{${counts('"NaN"', '"NaN"', '"NaN"')}}`,
  "usage-absurd": ({ promptTokens: p }) => `{${counts(p, "9007199254740993", "9007199254740993")}}`,
  "usage-int32": ({ promptTokens: p }) => `{${counts(p, 2_147_483_647, 2_147_483_647 + p)}}`,
  "usage-1e400": ({ promptTokens: p }) => `{${counts(p, "1e400", "1e400")}}`,
  "usage-zeros": () => `{${counts(0, 0, 0)}}`,
  "usage-total-only": ({ promptTokens: p, completionTokens: c }) => `{"total_tokens":${p + c}}`,
  "usage-subcounts": ({ promptTokens: p, completionTokens: c }) =>
    `{${counts(p, c, p + c)},"prompt_tokens_details":{"cached_tokens":${p + 1000},"cache_creation_input_tokens":${p + 1}},"completion_tokens_details":{"reasoning_tokens":${c + 1000}}}`,
  "usage-above-bound": null,
  "usage-null-everywhere": null,
  "usage-repeated": null,
  "usage-worsens": asText,
  "usage-mends": null,
};

const IMAGE: Readonly<Record<string, Partial<StreamShape>>> = {
  "image-violation": {},
  "image-blurred": {},
  "image-large": {},
  "image-cut": { ending: "rst" },
};
const SPEECH = ["speech-cut", "speech-error", "speech-empty"];

function each<T>(table: Readonly<Record<string, T>>, fault: (entry: T) => Fault): [string, Fault][] {
  return Object.entries(table).map(([name, entry]) => [name, fault(entry)]);
}

export const FAULTS: Readonly<Record<string, Fault>> = Object.fromEntries([
  ...each(ANSWERS, (answer) => ({ stage: "answer", answer })),
  ...SOCKET.map((name): [string, Fault] => [name, { stage: "socket" }]),
  ...each(SHAPES, (shape) => ({ stage: "stream", shape })),
  ...each(USAGES, (usage) => ({ stage: "usage", ...(usage ? { usage } : {}) })),
  ...each(IMAGE, (shape) => ({ stage: "image", shape })),
  ...SPEECH.map((name): [string, Fault] => [name, { stage: "speech" }]),
]);

export const FAULT_PREFIX = "fault-";

/** The usage that a fault reports in place of the true one; null if it reports the true one. */
export function falseUsage(fault: string | null, usage: Usage): string | null {
  return (fault === null ? undefined : FAULTS[fault]?.usage?.(usage)) ?? null;
}

export function streamShape(fault: string | null): StreamShape {
  return { ...NORMAL_SHAPE, ...(fault === null ? {} : FAULTS[fault]?.shape) };
}
