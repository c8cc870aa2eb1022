import assert from "node:assert/strict";
import { test } from "node:test";
import { providerError } from "./provider-error.ts";
import { readRetryAfter } from "./rate-limit.ts";
import { makeSecretFilters } from "./secret-writings.ts";

const secrets = makeSecretFilters(["the-provider-key"])("the-provider-key");

function errorOf(status: number, body: unknown) {
  const { detail, cause } = providerError({ status, body: JSON.stringify(body), retryAfterMs: null }, secrets);
  return [detail.code, cause, detail.message] as const;
}

test("an error is what its body says, whatever its status means elsewhere", () => {
  const cases: [status: number, body: unknown, code: string, cause: string, said: RegExp][] = [
    // A moderation, with the reasons.
    [
      403,
      {
        error: {
          code: 403,
          message: "This model requires moderation. Your input was flagged",
          metadata: { reasons: ["violence"], flagged_input: "..." },
        },
      },
      "content_policy_violation",
      "request",
      /Your input was flagged$/,
    ],
    [400, { error: { message: "No.", code: "content_filter" } }, "content_policy_violation", "request", /: No\.$/],
    [
      422,
      { error: "It cannot be drawn", suggested_prompt: "A harbour" },
      "content_policy_violation",
      "request",
      /drawn$/,
    ],
    // A model that the key may not use.
    [
      401,
      { error: "This model is only available to Pro users", code: "PRO_ONLY_MODEL" },
      "model_not_found",
      "request",
      /only available to Pro users$/,
    ],
    [
      403,
      { error: { message: "Project `p` has no access to `big`.", code: "model_not_found" } },
      "model_not_found",
      "request",
      /no access to `big`\.$/,
    ],
    // Validation errors: FastAPI's, and zod's.
    [
      422,
      { detail: [{ loc: ["body", "temperature"], msg: "Input should be less than 2", type: "less_than" }] },
      "invalid_request",
      "request",
      /: temperature: Input should be less than 2$/,
    ],
    [422, { detail: "Not a chat model" }, "invalid_request", "request", /: Not a chat model$/],
    [
      400,
      { error: "Invalid request parameters", issues: [{ code: "custom", path: ["size"], message: "Too large" }] },
      "invalid_request",
      "request",
      /: Invalid request parameters; size: Too large$/,
    ],
    [
      400,
      { error: { message: "Too long.", code: "context_length_exceeded" } },
      "context_length_exceeded",
      "request",
      /long/,
    ],
    [
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
        },
      },
      "context_length_exceeded",
      "request",
      /context size/,
    ],
    // The key or the account.
    [401, { error: "Authentication failed" }, "upstream_unavailable", "key", /not available/],
    [
      401,
      { error: "You have insufficient permissions for this operation. Missing scopes: model.request." },
      "upstream_unavailable",
      "key",
      /not available/,
    ],
    ...[401, 402, 403].map((status): [number, unknown, string, string, RegExp] => [
      status,
      { error: "Your account has been flagged for a violation of our usage policy" },
      "upstream_unavailable",
      "key",
      /not available/,
    ]),
    [402, { error: "Insufficient balance for this model" }, "upstream_unavailable", "key", /not available/],
    [403, { error: "API access has been disabled" }, "upstream_unavailable", "key", /not available/],
    // The provider.
    [429, { error: "Rate limit exceeded" }, "upstream_unavailable", "provider", /busy/],
    [500, { error: "content policy service failed" }, "upstream_error", "provider", /failed \(500\)/],
  ];
  for (const [status, body, code, cause, said] of cases) {
    const [foundCode, foundCause, message] = errorOf(status, body);
    assert.deepEqual([foundCode, foundCause], [code, cause], `${status} ${JSON.stringify(body)}`);
    assert.match(message, said);
  }
});

test("a key that is blocked for its failed requests says for how long, and is no fault of this request", () => {
  const error =
    "Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.";
  const body = JSON.stringify({ error });
  const told = providerError({ status: 429, body, retryAfterMs: 12_000 }, secrets);
  assert.deepEqual([told.blockedMs, told.detail.retryAfterS, told.cause], [12_000, 12, "provider"]);
  const untold = providerError({ status: 429, body, retryAfterMs: null }, secrets);
  assert.deepEqual([untold.blockedMs, untold.detail.retryAfterS], [30_000, 30]);
  const endless = providerError({ status: 429, body, retryAfterMs: 999_999_000 }, secrets);
  assert.deepEqual([endless.blockedMs, endless.detail.retryAfterS], [600_000, 600], "then it is asked again");
  assert.match(untold.alert ?? "", /too many requests failed/);
});

test("only whole seconds of a Retry-After are read", () => {
  const read = (text: string | null) => readRetryAfter({ header: () => text });
  assert.deepEqual(["30", "0", "soon", "-1", null].map(read), [30_000, 0, null, null, null]);
});

test("an error without a body that can be read has the meaning of its status, and shows no key", () => {
  for (const body of [
    "",
    "<html>",
    "null",
    "[]",
    "7",
    '{"error":7}',
    '{"error":{"message":7,"code":{}},"detail":[1,{}]}',
  ]) {
    const codes = [400, 401, 403, 404, 413, 422].map(
      (status) => providerError({ status, body, retryAfterMs: null }, secrets).detail.code,
    );
    const wanted =
      "invalid_request upstream_unavailable upstream_unavailable upstream_unavailable request_too_large invalid_request";
    assert.equal(codes.join(" "), wanted, body);
  }
  const [, , message] = errorOf(422, { detail: [{ loc: ["body"], msg: "bad key the-provider-key" }] });
  assert.doesNotMatch(message, /the-provider-key/);
});
