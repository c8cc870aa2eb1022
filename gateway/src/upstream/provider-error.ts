import type { ErrorDetail } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import { readErrorText, scrub } from "./error-text.ts";
import type { SecretFilter } from "./secret-writings.ts";

/** The gateway's error for an error of the provider. */
export type ProviderError = {
  detail: ErrorDetail;
  cause: ErrorCause;
  /** A message for the operator; null: none. */
  alert: string | null;
  modelGone: boolean;
  /** How long the provider blocks the key; null if it does not. */
  blockedMs: number | null;
};

/** An answer of the provider. `retryAfterMs`: its `Retry-After`; null if there is none. */
export type ErrorAnswer = { status: number; body: string; retryAfterMs: number | null };

/**
 * `request`: the content of the request. `key`: probably the operator's key or account, which `KeyCheck` finds out.
 * `provider`: the provider failed, is busy, or blocks the key.
 */
export type ErrorCause = "request" | "key" | "provider";

/**
 * Translates the provider's errors: 429, 5xx and redirects by the status, others by the body first. A client must never
 * be told to pay, to sign in or to slow down because of a problem between the provider and the operator.
 */
export function providerError({ status, body, retryAfterMs }: ErrorAnswer, secrets: SecretFilter): ProviderError {
  const { code, text, isFlagged } = readErrorText(body);
  const said = scrub(text, secrets);
  const because = said === "" ? "" : `: ${said}`;
  const words = `${code} ${text}`;
  if (status === 429)
    return TOO_MANY_FAILED.test(words) ? blocked(retryAfterMs ?? limits.keyBlockMs) : busy(retryAfterMs ?? BUSY_MS);
  if (status >= 500 || status === 408 || status < 400) return failed(status);
  const isOfAccount = status === 401 || status === 402 || (status === 403 && ACCOUNT.test(words));
  if (!isOfAccount && (isFlagged || CONTENT_POLICY.test(words))) {
    const message = `The provider's content policy refused the request${because}`;
    return ofRequest({ code: "content_policy_violation", message });
  }
  if (CONTEXT_LENGTH.test(words)) {
    return ofRequest({ code: "context_length_exceeded", message: `The provider refused the request${because}` });
  }
  switch (status) {
    case 400:
    case 422:
      return ofRequest({ code: "invalid_request", message: `The provider refused the request${because}` });
    case 413:
      return ofRequest({ code: "request_too_large", message: "The request is too large for the provider." });
    case 404:
    case 410: {
      const detail = { ...unavailable("This model is not available at the provider."), retry: false };
      return { ...ofRequest(detail), modelGone: true };
    }
    case 401:
    case 403:
      if (isOfAccount && ACCOUNT.test(words)) return ofKey();
      if (!MODEL.test(words) || SCOPES.test(words)) return ofKey();
      return ofRequest({ code: "model_not_found", message: `The provider does not serve this model here${because}` });
    case 402:
      return ofKey();
    default:
      return { ...failed(status), cause: "request" };
  }
}

/** How long a busy provider is left alone, if it does not say. */
const BUSY_MS = 5_000;
const TOO_MANY_FAILED = /too many failed/i;
const CONTENT_POLICY = /content[ _-]?(policy|policies|filter)|usage policy|safety system|moderation|\bflagged\b/i;
const CONTEXT_LENGTH = /context.{0,20}(length|size)|maximum context|too_many_tokens/i;
/** The operator's account or key at the provider, not the request. */
const ACCOUNT = /\byour (account|organization)\b/i;
const SCOPES = /\bscopes?\b|insufficient permissions/i;
const MODEL = /\bmodels?\b|_model\b|\bmodel_/i;

const plain = { alert: null, modelGone: false, blockedMs: null };

function ofRequest(detail: ErrorDetail): ProviderError {
  return { detail, cause: "request", ...plain };
}

/** A retry by the client does not help. The check of the key alerts the operator. */
function ofKey(): ProviderError {
  const detail = { ...unavailable("The provider is not available."), retry: false };
  return { detail, cause: "key", ...plain };
}

function blocked(toldMs: number): ProviderError {
  const blockedMs = Math.min(toldMs, limits.mostKeyBlockMs);
  const seconds = Math.max(1, Math.ceil(blockedMs / 1000));
  const alert = `it blocks UPSTREAM_API_KEY for ${seconds} s, because too many requests failed: lower UPSTREAM_FAILURES`;
  return { ...ofProvider(unavailable("The provider is not available.", seconds)), alert, blockedMs };
}

function busy(ms: number): ProviderError {
  const seconds = Math.max(1, Math.ceil(Math.min(ms, limits.mostKeyBlockMs) / 1000));
  return ofProvider(unavailable(`The provider is busy. Retry in ${seconds} s.`, seconds));
}

function failed(status: number): ProviderError {
  if (status === 408 || status === 504) {
    return ofProvider({ code: "upstream_timeout", message: "The provider took too long. Nothing was charged." });
  }
  if (status === 503) return ofProvider(unavailable("The provider is not available.", 5));
  const alert = status >= 300 && status < 400 ? `it answered with a redirect (${status})` : null;
  const message = `The provider failed (${status}). Nothing was charged.`;
  return { ...ofProvider({ code: "upstream_error", message }), alert };
}

function ofProvider(detail: ErrorDetail): ProviderError {
  return { detail, cause: "provider", ...plain };
}

function unavailable(message: string, retryAfterS?: number): ErrorDetail {
  const detail: ErrorDetail = { code: "upstream_unavailable", message: `${message} Nothing was charged.` };
  return retryAfterS === undefined ? detail : { ...detail, retryAfterS };
}
