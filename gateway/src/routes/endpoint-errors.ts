import type { ErrorCode } from "@inference/protocol/errors";

/** Lists of errors that endpoints share. Every endpoint can answer with these. */
export const commonErrors: ErrorCode[] = ["invalid_request", "rate_limited", "internal_error"];
/** Errors of an endpoint that reads or writes the ledger. */
export const ledgerErrors: ErrorCode[] = ["ledger_unavailable", ...commonErrors];
/**
 * Errors of an endpoint that looks up a credential. Clients may send the wrong kind, and the owner of an agent may have
 * to be read from the chain.
 */
export const credentialErrors: ErrorCode[] = [
  "missing_credentials",
  "invalid_api_key",
  "key_expired",
  "key_disabled",
  "invalid_session",
  "session_expired",
  "not_agent_owner",
  "chain_unavailable",
];
/** All errors of an endpoint that looks up a credential and takes no body. */
export const authenticatedErrors: ErrorCode[] = [...credentialErrors, "overloaded", ...ledgerErrors];
/** Errors of an endpoint that takes a JSON body. */
export const bodyErrors: ErrorCode[] = ["request_timeout", "request_too_large", "unsupported_media_type", "overloaded"];
/** Errors of an endpoint that takes a signed message. */
export const signatureErrors: ErrorCode[] = [
  "invalid_signature",
  "siwe_expired",
  "siwe_nonce_used",
  "siwe_domain_mismatch",
  "siwe_chain_unsupported",
  "siwe_malformed",
  "chain_unavailable",
];
/** All errors of an endpoint that answers with a list from the provider. */
export const providerListErrors: ErrorCode[] = [
  "unsupported_parameter",
  "not_found",
  "upstream_error",
  "upstream_unavailable",
  ...authenticatedErrors,
];
/** Errors of every metered endpoint. */
export const meteredErrors: ErrorCode[] = [
  ...bodyErrors,
  "unsupported_parameter",
  "unpriced_option",
  "content_policy_violation",
  "request_too_expensive",
  ...credentialErrors,
  "invalid_signature",
  "payment_required",
  "payment_refused",
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
  ...ledgerErrors,
];
