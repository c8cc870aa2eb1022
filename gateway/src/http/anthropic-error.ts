import { type ErrorBody, errorTable } from "@inference/protocol/errors";

/** An error of ours as the Messages API has it. Our code, field and numbers stand beside its members. */
export type AnthropicError = {
  type: "error";
  error: { type: string } & Omit<ErrorBody["error"], "type">;
  request_id: string;
};

export function anthropicError(error: ErrorBody["error"], requestId: string): AnthropicError {
  const { type: _, message, ...more } = error;
  const { status } = errorTable[error.code];
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  // Claude Code shortens the conversation when it reads these words.
  const words = error.code === "context_length_exceeded" ? `prompt is too long: ${message}` : message;
  return { type: "error", error: { type, message: words, ...more }, request_id: requestId };
}

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};
