import type { NanoUsd } from "./money.ts";

/**
 * All errors of the gateway: a table from a code to its status, its type and whether a client may retry the same
 * request. Nothing else builds an error body. The body is OpenAI's object with all four fields, and `metadata` with
 * numbers that a program can use.
 *
 * `retry` decides `x-should-retry`: OpenAI's clients retry 408, 409, 429 and 5xx unless told not to, so it is false for
 * errors that do not end within seconds.
 */
export const errorTable = {
  invalid_request: { status: 400, type: "invalid_request_error", retry: false },
  unsupported_parameter: { status: 400, type: "invalid_request_error", retry: false },
  unpriced_option: { status: 400, type: "invalid_request_error", retry: false },
  context_length_exceeded: { status: 400, type: "invalid_request_error", retry: false },
  content_policy_violation: { status: 400, type: "invalid_request_error", retry: false },
  request_too_expensive: { status: 400, type: "invalid_request_error", retry: false },
  missing_credentials: { status: 401, type: "authentication_error", retry: false },
  invalid_api_key: { status: 401, type: "authentication_error", retry: false },
  key_expired: { status: 401, type: "authentication_error", retry: false },
  invalid_session: { status: 401, type: "authentication_error", retry: false },
  session_expired: { status: 401, type: "authentication_error", retry: false },
  invalid_signature: { status: 401, type: "authentication_error", retry: false },
  siwe_expired: { status: 401, type: "authentication_error", retry: false },
  siwe_nonce_used: { status: 401, type: "authentication_error", retry: false },
  siwe_domain_mismatch: { status: 401, type: "authentication_error", retry: false },
  siwe_chain_unsupported: { status: 401, type: "authentication_error", retry: false },
  siwe_malformed: { status: 401, type: "authentication_error", retry: false },
  payment_required: { status: 402, type: "insufficient_balance", retry: false },
  payment_refused: { status: 402, type: "insufficient_balance", retry: false },
  insufficient_balance: { status: 402, type: "insufficient_balance", retry: false },
  key_limit_exceeded: { status: 402, type: "insufficient_balance", retry: false },
  capacity_exhausted: { status: 402, type: "insufficient_balance", retry: false },
  not_agent_owner: { status: 403, type: "permission_error", retry: false },
  model_not_allowed: { status: 403, type: "permission_error", retry: false },
  key_disabled: { status: 403, type: "permission_error", retry: false },
  wrong_identity: { status: 403, type: "permission_error", retry: false },
  model_not_found: { status: 404, type: "invalid_request_error", retry: false },
  not_found: { status: 404, type: "invalid_request_error", retry: false },
  method_not_allowed: { status: 405, type: "invalid_request_error", retry: false },
  request_timeout: { status: 408, type: "invalid_request_error", retry: true },
  request_too_large: { status: 413, type: "invalid_request_error", retry: false },
  unsupported_media_type: { status: 415, type: "invalid_request_error", retry: false },
  idempotency_in_progress: { status: 409, type: "idempotency_error", retry: true },
  idempotency_completed: { status: 409, type: "idempotency_error", retry: false },
  idempotency_mismatch: { status: 422, type: "idempotency_error", retry: false },
  budget_reserved: { status: 429, type: "rate_limit_error", retry: true },
  too_many_in_flight: { status: 429, type: "rate_limit_error", retry: true },
  rate_limited: { status: 429, type: "rate_limit_error", retry: true },
  internal_error: { status: 500, type: "server_error", retry: false },
  upstream_error: { status: 502, type: "server_error", retry: false },
  upstream_unavailable: { status: 503, type: "server_error", retry: true },
  chain_unavailable: { status: 503, type: "server_error", retry: true },
  ledger_unavailable: { status: 503, type: "server_error", retry: true },
  overloaded: { status: 503, type: "server_error", retry: true },
  daily_cap_reached: { status: 503, type: "server_error", retry: false },
  ceiling_reserved: { status: 503, type: "server_error", retry: true },
  upstream_timeout: { status: 504, type: "server_error", retry: false },
} as const satisfies Record<string, { status: number; type: string; retry: boolean }>;

export type ErrorCode = keyof typeof errorTable;

export type ErrorMetadata = { [name: string]: ErrorValue };
type ErrorValue = string | number | boolean | null | readonly number[] | { readonly [name: string]: ErrorValue };

export type ErrorDetail = {
  code: ErrorCode;
  /** Says what is wrong and what to do about it. */
  message: string;
  /** The field of the request that it is about. */
  param?: string | null;
  /** Numbers for programs: what was needed, what is left, when it resets. */
  metadata?: ErrorMetadata;
  /** Seconds until the same request may succeed. */
  retryAfterS?: number;
  /** Overrides the table's `retry` for one cause of a code. */
  retry?: boolean;
  /** The account's spendable balance, for a header. Absent if it is not known or if a capacity pays. */
  balanceNanoUsd?: NanoUsd;
};

export type ErrorBody = {
  error: {
    message: string;
    type: string;
    param: string | null;
    code: ErrorCode;
    metadata?: ErrorMetadata;
  };
};

/**
 * OpenAI's clients wait for the whole Retry-After. Above this time they are told not to retry, and the body has the
 * time.
 */
const LONGEST_WAIT_S = 10;

export function errorBody({ code, message, param, metadata, retryAfterS }: ErrorDetail): ErrorBody {
  const { type } = errorTable[code];
  const told = isLongWait(retryAfterS) ? { ...metadata, retry_after_s: retryAfterS } : metadata;
  return { error: { message, type, param: param ?? null, code, ...(told === undefined ? {} : { metadata: told }) } };
}

/** Headers that tell a client whether to try again, and when. */
export function errorHeaders(detail: ErrorDetail): Record<string, string> {
  const retry = (detail.retry ?? errorTable[detail.code].retry) && !isLongWait(detail.retryAfterS);
  const headers: Record<string, string> = { "x-should-retry": retry ? "true" : "false" };
  if (retry && detail.retryAfterS !== undefined) headers["retry-after"] = String(detail.retryAfterS);
  return headers;
}

function isLongWait(retryAfterS: number | undefined): retryAfterS is number {
  return retryAfterS !== undefined && retryAfterS > LONGEST_WAIT_S;
}

/** Thrown below the HTTP layer to answer with an error of the table. */
export class GatewayError extends Error {
  override name = "GatewayError";
  readonly detail: ErrorDetail;
  constructor(detail: ErrorDetail) {
    super(detail.message);
    this.detail = detail;
  }
}

export function fail(code: ErrorCode, message: string, more: Omit<ErrorDetail, "code" | "message"> = {}): never {
  throw new GatewayError({ code, message, ...more });
}
