import type { ErrorCode } from "./errors.ts";

/**
 * The meaning of each error code and the remedy, in one sentence each: `/docs` and `llms.txt` show these. The message
 * of an error says more, with its amounts and times.
 */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  invalid_request: "The request cannot be read, or a field has a wrong value: correct the field in `param`.",
  unsupported_parameter: "The gateway does not know the field in `param`, or does not support it: leave it out.",
  unpriced_option: "The gateway has no price for this option, so that it cannot be charged: choose another.",
  context_length_exceeded: "The prompt and `max_tokens` exceed the model's context: shorten one of them.",
  content_policy_violation: "The provider's content policy refused the request: change its content.",
  request_too_expensive:
    "The request could cost more than one account may hold of the day's ceiling: lower `max_tokens` or shorten the prompt.",
  missing_credentials: "The request has no bearer token: send an API key or a session token.",
  invalid_api_key: "The API key is unknown here or revoked: create another one.",
  key_expired: "The API key has passed its `expires_at`: create another one.",
  invalid_session: "The session token is unknown or signed out: sign in again.",
  session_expired: "The session has ended after 24 hours: sign in again.",
  invalid_signature: "The signature is not the named address's over exactly this message: sign the text as it is sent.",
  siwe_expired:
    "The signed message is older than ten minutes, past its own expiry, or from the future: sign a new one, with the right time.",
  siwe_nonce_used: "The signed message was used before, and is good once: sign another with a new nonce.",
  siwe_domain_mismatch:
    "The signed message names another service: use this gateway's host as its domain, and this gateway's URL as its URI.",
  siwe_chain_unsupported: "The signed message names a chain that is not accepted: use one of `metadata.chain_ids`.",
  siwe_malformed:
    "The text is not an EIP-4361 message, or its resources do not fit the route: a key needs exactly one, a sign-in none for keys.",
  payment_required:
    "The request has no credential and no payment: send an API key, or pay it by x402 as the PAYMENT-REQUIRED header says.",
  payment_refused:
    "The signed payment is not made as it is: the message says why, and whether anything was paid. Sign another.",
  insufficient_balance:
    "The account's balance does not cover the most that the request can cost: lower `max_tokens`, or activate more tokens.",
  key_limit_exceeded:
    "The key's own limit does not cover the request: lower `max_tokens`, wait for `metadata.resets_at`, or use another key.",
  capacity_exhausted:
    "The identity's capacity of the day does not cover the request: lower `max_tokens`, or wait until 00:00 UTC.",
  not_agent_owner: "The signing wallet does not own the agent: sign in with the wallet that `owner()` names.",
  model_not_allowed:
    "The terms of the API key do not allow the model: use one that `models` and `private` of `GET /api/v1/key` allow, or let the wallet sign other terms.",
  key_disabled: "The API key is disabled: enable it with a session of its wallet, or use another.",
  wrong_identity: "The credential is good and of the wrong kind for this route: the message says which one it takes.",
  model_not_found:
    "There is no model with this id, or the provider does not serve it here: take one from `GET /api/v1/models`.",
  not_found: "The path, or what it names, does not exist for this credential: check the id and the path.",
  method_not_allowed: "The path does not take this method: the `allow` header has those that it takes.",
  request_timeout: "The body did not arrive in time: send it again over a faster connection.",
  request_too_large: "The body is larger than the endpoint accepts: send less in one request.",
  unsupported_media_type:
    "The body is not JSON: send it with `content-type: application/json`. With a credential it may be in gzip, br or zstd.",
  idempotency_in_progress: "The first request with this `Idempotency-Key` has not ended: ask again in a second.",
  idempotency_completed:
    "The request with this `Idempotency-Key` was served and its answer is not kept: read the receipt instead of asking again.",
  idempotency_mismatch: "The `Idempotency-Key` was used for another body: use a new key for a new request.",
  budget_reserved:
    "Requests in flight have reserved what is left: wait for them, or lower `max_tokens`; unused reserve comes back.",
  too_many_in_flight: "The account or identity has too many requests in flight: wait until one of them has ended.",
  rate_limited:
    "Too many requests came in the last minute, wait for the provider, or failed there: wait as long as `retry-after` or `metadata.retry_after_s` says.",
  internal_error:
    "The gateway has failed: report the `x-request-id` to the operator. `GET /api/v1/generation` with it tells what was charged, if anything.",
  upstream_error:
    "The provider's answer was an error or could not be read: the receipt says what was charged, if anything.",
  upstream_unavailable:
    "The provider is unreachable or overloaded, and nothing was charged: wait as long as `retry-after` says.",
  chain_unavailable: "The blockchain could not be read, and nothing was charged: try again in a few seconds.",
  ledger_unavailable: "The gateway could not write its ledger: try again in a few seconds.",
  overloaded: "The gateway has more work than memory for it: wait as long as `retry-after` says.",
  daily_cap_reached:
    "What the gateway may settle in a day has been spent: wait for `metadata.resets_at`, 00:00 UTC. Balances are untouched.",
  ceiling_reserved:
    "Requests in flight have reserved the rest of what the gateway may settle today: try again in a few seconds.",
  upstream_timeout: "The provider took too long: the receipt says what was charged, if anything.",
};
