import type { ErrorDetail } from "@inference/protocol/errors";
import { scrub } from "./scrub.ts";
import type { SecretFilter } from "./secret-writings.ts";

/** The gateway's error for an error of the provider. `alert`: the operator's key or account is the cause. */
export type ProviderError = { detail: ErrorDetail; alert: string | null; modelGone: boolean };

/**
 * Translates the provider's errors. A client must never be told to pay, to sign in or to slow down because of a problem
 * between the provider and the operator.
 */
export function providerError(status: number, body: string, secrets: SecretFilter): ProviderError {
  const said = scrub(messageOf(body), secrets);
  const because = said === "" ? "" : `: ${said}`;
  const plain = (detail: ErrorDetail): ProviderError => ({ detail, alert: null, modelGone: false });
  if (status === 400) {
    const code = /context.{0,20}length|maximum context/i.test(body) ? "context_length_exceeded" : "invalid_request";
    return plain({ code, message: `The provider refused the request${because}` });
  }
  if (status === 422) {
    return plain({
      code: "content_policy_violation",
      message: `The provider's content policy refused the request${because}`,
    });
  }
  if (status === 413)
    return plain({ code: "request_too_large", message: "The request is too large for the provider." });
  if (status === 404 || status === 410) {
    const detail = { ...unavailable("This model is not available at the provider."), retry: false };
    return { ...plain(detail), modelGone: true };
  }
  if (status === 429) return plain(unavailable("The provider is busy. Retry in a few seconds.", 5));
  if (status === 401 || status === 402 || status === 403) {
    // The operator's key or account: a retry by the client does not help.
    const detail = { ...unavailable("The provider is not available."), retry: false };
    return { ...plain(detail), alert: `it answered ${status}` };
  }
  if (status === 408 || status === 504) {
    return plain({ code: "upstream_timeout", message: "The provider took too long. Nothing was charged." });
  }
  if (status === 503) return plain(unavailable("The provider is not available.", 5));
  const alert = status >= 300 && status < 400 ? `it answered with a redirect (${status})` : null;
  const message = `The provider failed (${status}). Nothing was charged.`;
  return { ...plain({ code: "upstream_error", message }), alert };
}

function unavailable(message: string, retryAfterS?: number): ErrorDetail {
  const detail: ErrorDetail = { code: "upstream_unavailable", message: `${message} Nothing was charged.` };
  return retryAfterS === undefined ? detail : { ...detail, retryAfterS };
}

/** The message in an error body, in any of the shapes that providers use. */
function messageOf(body: string): string {
  try {
    const parsed = JSON.parse(body) as { error?: unknown; message?: unknown };
    const error = parsed?.error ?? parsed?.message;
    if (typeof error === "string") return error;
    const inner = (error as { message?: unknown } | undefined)?.message;
    return typeof inner === "string" ? inner : "";
  } catch {
    return "";
  }
}
