import assert from "node:assert/strict";
import type { WireAnswer } from "./http-client.ts";

export type WireError = {
  message: string;
  type: string;
  param: string | null;
  code: string;
  metadata?: Record<string, string | number | boolean | null>;
};

const types: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "insufficient_balance",
  403: "permission_error",
  404: "invalid_request_error",
  405: "invalid_request_error",
  408: "invalid_request_error",
  413: "invalid_request_error",
  415: "invalid_request_error",
  429: "rate_limit_error",
};
/** The errors that pass within seconds. */
const retried = new Set([
  "request_timeout",
  "budget_reserved",
  "too_many_in_flight",
  "upstream_unavailable",
  "ledger_unavailable",
  "overloaded",
  "ceiling_reserved",
]);

/**
 * The answer is this error, and an error as every error is: four fields, an id of ours, CORS, and a word on retries.
 */
export function assertError(answer: WireAnswer, status: number, code: string): WireError {
  assert.equal(answer.status, status, `${answer.status} ${answer.text.slice(0, 500)}`);
  const { headers } = answer;
  assert.match(headers["content-type"] ?? "", /^application\/json/);
  assert.match(String(headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
  assert.equal(headers["access-control-allow-origin"], "*");
  assert.match(headers["access-control-expose-headers"] ?? "", /x-request-id.*retry-after.*x-should-retry/);
  assert.equal(headers["access-control-allow-credentials"], undefined);
  assert.equal(headers["x-should-retry"], String(retried.has(code)), `x-should-retry of ${code}`);
  if (!retried.has(code)) assert.equal(headers["retry-after"], undefined, `retry-after of ${code}`);
  else if (headers["retry-after"] !== undefined) assert.match(headers["retry-after"], /^[1-5]$/);
  const body = JSON.parse(answer.text) as { error: WireError };
  assert.deepEqual(Object.keys(body), ["error"]);
  const { error } = body;
  assert.deepEqual(Object.keys(error).slice(0, 4), ["message", "type", "param", "code"]);
  assert.ok(Object.keys(error).every((key) => ["message", "type", "param", "code", "metadata"].includes(key)));
  assert.equal(error.code, code, error.message);
  assert.equal(error.type, types[status] ?? "server_error");
  assert.ok(error.param === null || typeof error.param === "string");
  assert.ok(error.message.length > 10 && error.message.length < 600, error.message);
  return error;
}
