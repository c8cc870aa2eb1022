import { LedgerUnavailable } from "@inference/ledger/client";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import {
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  errorBody,
  errorHeaders,
  errorTable,
  GatewayError,
} from "@inference/protocol/errors";
import { PAYMENT_REQUIRED, PAYMENT_RESPONSE } from "../top-up/x402.ts";
import type { GatewayContext } from "./context.ts";
import { balanceHeader } from "./money.ts";

/** Turns any error into a response. */
export function errorResponse(context: GatewayContext, error: unknown): Response {
  const detail = errorDetail(error);
  const { metrics, environment } = context.get("gateway");
  metrics.refused(detail.code);
  context.set("code", detail.code);
  const request = context.get("requestId");
  if (detail.code === "internal_error") environment.log("alert", "internal_error", { request, error: describe(error) });
  // The reason is for the operator only.
  if (error instanceof LedgerUnavailable)
    environment.log("warn", "ledger_unavailable", { request, error: error.message });
  const headers = { ...errorHeaders(detail), ...balanceHeader(detail.balanceNanoUsd), ...paymentHeaders(context) };
  // The rest of a late body would be read as the next request.
  if (detail.code === "request_timeout") headers.connection = "close";
  const { path } = context.req;
  const status = RESPONSES.test(path)
    ? responsesStatus(detail.code, headers["x-should-retry"] === "true")
    : errorTable[detail.code].status;
  if (!MESSAGES.test(path)) return context.json(errorBody(detail), status, headers);
  return context.json(anthropicError(errorBody(detail).error, request), status, { ...headers, "request-id": request });
}

function paymentHeaders(context: GatewayContext): Record<string, string> {
  const required = context.get("paymentRequired");
  const response = context.get("paymentResponse");
  return {
    ...(required === undefined ? {} : { [PAYMENT_REQUIRED]: required }),
    ...(response === undefined ? {} : { [PAYMENT_RESPONSE]: response }),
  };
}

/** The paths of the Responses API, where some errors have another status. */
const RESPONSES = /\/v1\/responses\/?$/;

/** The paths of the Messages API, whose clients read another error. */
const MESSAGES = /\/v1\/messages(?:\/count_tokens)?\/?$/;

export function errorDetail(error: unknown): ErrorDetail {
  if (error instanceof GatewayError) return error.detail;
  if (error instanceof LedgerUnavailable) {
    const message = "The ledger is unavailable. Retry in a few seconds.";
    return { code: "ledger_unavailable", message, retryAfterS: 2 };
  }
  if (error instanceof ChainUnavailable) {
    const message = "The chain cannot be read. Nothing was charged. Retry in a few seconds.";
    return { code: "chain_unavailable", message, retryAfterS: 2 };
  }
  return { code: "internal_error", message: INTERNAL_ERROR };
}

/** An internal error may happen after the charge. */
const INTERNAL_ERROR =
  "Something went wrong here. What was charged, if anything: see GET /api/v1/generation with the x-request-id as its id.";

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * The status of an error on the Responses API. Codex ends its turn at a 429 and does not show the error's message. It
 * tries again after a 503, and shows the message at the end. So a 429 that ends within seconds is a 503 there. One that
 * takes longer stays 429: the turn ends at once, and Codex names the status.
 *
 * @param retry What `x-should-retry` says.
 */
export function responsesStatus(code: ErrorCode, retry: boolean): (typeof errorTable)[ErrorCode]["status"] {
  const { status } = errorTable[code];
  return status === 429 && retry ? 503 : status;
}

/** The statuses that an error can have on the Responses API. */
export function responsesStatuses(code: ErrorCode): readonly number[] {
  return [...new Set([responsesStatus(code, true), responsesStatus(code, false)])];
}

/** An error of ours as the Messages API has it. Our code, field and numbers stand beside its members. */
type AnthropicError = {
  type: "error";
  error: { type: string } & Omit<ErrorBody["error"], "type">;
  request_id: string;
};

export function anthropicError(error: ErrorBody["error"], requestId: string): AnthropicError {
  const { type: _, message, ...more } = error;
  const type = TYPES[errorTable[error.code].status] ?? "api_error";
  // Claude Code shortens the conversation when it reads these words.
  const words = error.code === "context_length_exceeded" ? `prompt is too long: ${message}` : message;
  return { type: "error", error: { type, message: words, ...more }, request_id: requestId };
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  408: "timeout_error",
  409: "invalid_request_error",
  413: "request_too_large",
  415: "invalid_request_error",
  422: "invalid_request_error",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
};
