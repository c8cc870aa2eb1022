import { LedgerUnavailable } from "@inference/ledger/client";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type ErrorDetail, errorBody, errorHeaders, errorTable, GatewayError } from "@inference/protocol/errors";
import { PAYMENT_REQUIRED, PAYMENT_RESPONSE } from "../top-up/x402.ts";
import { anthropicError } from "./anthropic-error.ts";
import type { GatewayContext } from "./context.ts";
import { balanceHeader } from "./money.ts";
import { responsesStatus } from "./responses-status.ts";

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
