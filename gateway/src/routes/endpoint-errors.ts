import type { ErrorCode } from "@inference/protocol/errors";
import type { Operation } from "../docs/operation.ts";

const credentialErrors: ErrorCode[] = [
  "missing_credentials",
  "invalid_api_key",
  "key_expired",
  "key_disabled",
  "invalid_session",
  "session_expired",
  "not_agent_owner",
  "chain_unavailable",
];
/**
 * Errors of an endpoint that looks up a credential. Clients may send the wrong kind, and the owner of an agent may have
 * to be read from the chain.
 */
export const authenticatedErrors: ErrorCode[] = [...credentialErrors, "overloaded", "ledger_unavailable"];
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
/** Errors of an endpoint that answers with a list from the provider. */
export const providerListErrors: ErrorCode[] = [
  "unsupported_parameter",
  "not_found",
  "upstream_error",
  "upstream_unavailable",
  ...authenticatedErrors,
];
/** Errors of every metered endpoint. */
export const meteredErrors: ErrorCode[] = [
  "unsupported_parameter",
  "unpriced_option",
  "content_policy_violation",
  "request_too_expensive",
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
];

/** The errors that an endpoint names, and those that its credentials and its body imply. Each is in the list once. */
export function errorsOf(
  credentials: Operation["credentials"],
  takesBody: boolean,
  named: readonly ErrorCode[],
): readonly ErrorCode[] {
  const errors = new Set<ErrorCode>([...named, "invalid_request", "rate_limited", "internal_error"]);
  function add(...implied: ErrorCode[]): void {
    for (const code of implied) errors.add(code);
  }
  if (takesBody) add("request_timeout", "request_too_large", "unsupported_media_type", "overloaded");
  if (credentials.includes("API key") || credentials.includes("session")) add(...authenticatedErrors);
  if (credentials.includes("operator's token")) add("missing_credentials", "invalid_api_key");
  // A session is of an agent's owner or of an account, and some of what takes one is for one of both.
  if (credentials.length === 1 && credentials[0] === "session") add("wrong_identity");
  return [...errors];
}
