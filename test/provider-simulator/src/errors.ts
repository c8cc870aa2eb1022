/** Error bodies of the provider. Their shapes differ, as they do at the provider. */

export interface WireAnswer {
  readonly status: number;
  /** Sent verbatim if it is a string, else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by a handler to answer with an error. */
export class WireError extends Error {
  readonly answer: WireAnswer;
  constructor(answer: WireAnswer) {
    super(`HTTP ${answer.status}`);
    this.answer = answer;
  }
}

export function plainError(status: number, error: string): WireAnswer {
  return { status, body: { error } };
}

/** @param field Null for the body itself. */
export function schemaError(field: string | null, message: string, code = "custom"): WireAnswer {
  const details = field === null ? { _errors: [message] } : { _errors: [], [field]: { _errors: [message] } };
  const issues = [{ code, path: field === null ? [] : [field], message }];
  return { status: 400, body: { error: "Invalid request parameters", details, issues } };
}

export function unrecognizedKeys(keys: readonly string[]): WireAnswer {
  const message = `Unrecognized key(s) in object: ${keys.map((key) => `'${key}'`).join(", ")}`;
  return schemaError(null, message, "unrecognized_keys");
}

export function openaiError(message: string, param: string | null, code: string): WireAnswer {
  return { status: 400, body: { error: { message, type: "invalid_request_error", param, code } } };
}

export const ADMIN_KEY_REQUIRED = plainError(401, "Admin API key required");
export const AUTHENTICATION_FAILED = plainError(401, "Authentication failed");
/** Sent for a request without a credential. */
export const AUTHENTICATION_REQUIRED: WireAnswer = {
  status: 402,
  body: { x402Version: 2, error: "Authentication required", accepts: [{ scheme: "exact", amount: "10000000" }] },
};
export const JSON_TYPE_REQUIRED = plainError(400, "'Content-Type' must be 'application/json'");
export const FORM_REQUIRED = plainError(415, "'Content-Type' must be 'multipart/form-data'");
export const NOT_FOUND = plainError(404, "Not Found");
export const MODEL_NOT_FOUND = plainError(404, "Specified model not found. Please view the available models.");
export const PAYLOAD_TOO_LARGE: WireAnswer = {
  status: 413,
  body: { code: "PAYLOAD_TOO_LARGE", error: "The request body is too large." },
};
const limitExceeded = (currency: string) =>
  plainError(402, `API key ${currency} spend limit exceeded. Raise the limit or wait for reset.`);
export const USD_LIMIT_EXCEEDED = limitExceeded("USD");
export const DIEM_LIMIT_EXCEEDED = limitExceeded("DIEM");
export const RATE_LIMITED = plainError(429, "Rate limit exceeded");
export const INFERENCE_FAILED = plainError(500, "Inference processing failed");

export function errorBudgetSpent(threshold: number): WireAnswer {
  return plainError(
    429,
    `Too many failed attempts (> ${threshold}) resulting in a non-success status code. Please wait 30s and try again.`,
  );
}
