import type { ErrorCode } from "@inference/protocol/errors";

/**
 * Which errors routes answer with, by what the routes take and do. What cannot be read as a request is
 * `invalid_request`, wherever it goes.
 */
export const everywhere: ErrorCode[] = ["invalid_request", "rate_limited", "internal_error"];
export const reading: ErrorCode[] = ["ledger_unavailable", ...everywhere];
/** Whatever a route is for, a credential of either kind may come. Who owns an agent, the chain may have to say. */
export const withCredential: ErrorCode[] = [
  "missing_credentials",
  "invalid_api_key",
  "key_expired",
  "key_disabled",
  "invalid_session",
  "session_expired",
  "not_agent_owner",
  "chain_unavailable",
];
/** The same, of a route without a body, which cannot be overloaded otherwise. */
export const knowing: ErrorCode[] = [...withCredential, "overloaded", ...reading];
export const withBody: ErrorCode[] = ["request_timeout", "request_too_large", "unsupported_media_type", "overloaded"];
export const withSignature: ErrorCode[] = [
  "invalid_signature",
  "siwe_expired",
  "siwe_nonce_used",
  "siwe_domain_mismatch",
  "siwe_chain_unsupported",
  "siwe_malformed",
  "chain_unavailable",
];
export const catalogueErrors: ErrorCode[] = [
  "unsupported_parameter",
  "not_found",
  "upstream_error",
  "upstream_unavailable",
  ...knowing,
];
export const paid: ErrorCode[] = [
  ...withBody,
  "unsupported_parameter",
  "unpriced_option",
  "content_policy_violation",
  "request_too_expensive",
  ...withCredential,
  "insufficient_balance",
  "key_limit_exceeded",
  "capacity_exhausted",
  "model_not_found",
  "budget_reserved",
  "too_many_in_flight",
  "idempotency_in_progress",
  "idempotency_completed",
  "idempotency_mismatch",
  "upstream_error",
  "upstream_unavailable",
  "upstream_timeout",
  "daily_cap_reached",
  "ceiling_reserved",
  ...reading,
];
