import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, errorBody, errorHeaders, errorTable, fail, GatewayError } from "./errors.ts";

/** The promise: each code's status, and whether the same request may succeed in seconds. */
const promised: Record<number, { retry?: string; never?: string }> = {
  400: {
    never:
      "invalid_request unsupported_parameter unpriced_option context_length_exceeded content_policy_violation request_too_expensive",
  },
  401: {
    never:
      "missing_credentials invalid_api_key key_expired invalid_session session_expired invalid_signature siwe_expired siwe_nonce_used siwe_domain_mismatch siwe_chain_unsupported siwe_malformed",
  },
  402: { never: "payment_required payment_refused insufficient_balance key_limit_exceeded capacity_exhausted" },
  403: { never: "not_agent_owner key_disabled wrong_identity model_not_allowed" },
  404: { never: "model_not_found not_found" },
  405: { never: "method_not_allowed" },
  408: { retry: "request_timeout" },
  409: { retry: "idempotency_in_progress", never: "idempotency_completed" },
  413: { never: "request_too_large" },
  415: { never: "unsupported_media_type" },
  422: { never: "idempotency_mismatch" },
  429: { retry: "budget_reserved too_many_in_flight rate_limited" },
  500: { never: "internal_error" },
  502: { never: "upstream_error" },
  503: {
    retry: "upstream_unavailable chain_unavailable ledger_unavailable overloaded ceiling_reserved",
    never: "daily_cap_reached",
  },
  504: { never: "upstream_timeout" },
};
const codes = Object.keys(errorTable) as ErrorCode[];

test("every code has its status and says whether to try again, and there is no other code", () => {
  const words = (text = "") => text.split(" ").filter((word) => word !== "");
  const expected = Object.entries(promised).flatMap(([status, { retry, never }]) => [
    ...words(retry).map((code) => `${code} ${status} true`),
    ...words(never).map((code) => `${code} ${status} false`),
  ]);
  const actual = codes.map((code) => `${code} ${errorTable[code].status} ${errorTable[code].retry}`);
  assert.deepEqual(actual.sort(), expected.sort());
});

test("a status has one type, but for the conflicts of idempotency", () => {
  const types = new Map<number, Set<string>>();
  for (const code of codes) {
    const { status, type } = errorTable[code];
    types.set(status, (types.get(status) ?? new Set()).add(type));
  }
  for (const [status, set] of types) assert.equal(set.size, 1, `${status}: ${[...set]}`);
});

test("a body always has the four fields, and metadata only if there is some", () => {
  for (const code of codes) {
    assert.deepEqual(errorBody({ code, message: "why" }), {
      error: { message: "why", type: errorTable[code].type, param: null, code },
    });
  }
  assert.deepEqual(
    errorBody({ code: "key_limit_exceeded", message: "why", param: "model", metadata: { resets_at: 5 } }),
    {
      error: {
        message: "why",
        type: "insufficient_balance",
        param: "model",
        code: "key_limit_exceeded",
        metadata: { resets_at: 5 },
      },
    },
  );
});

test("an error that lasts longer than seconds has no retry time", () => {
  for (const code of codes) {
    const { retry } = errorTable[code];
    assert.deepEqual(errorHeaders({ code, message: "" }), { "x-should-retry": `${retry}` });
    const headers = errorHeaders({ code, message: "", retryAfterS: 2 });
    assert.equal(headers["retry-after"], retry ? "2" : undefined, code);
  }
});

test("a wait of more than ten seconds is told in the body, and no client sleeps through it", () => {
  const late = (retryAfterS: number) => ({ code: "rate_limited" as const, message: "why", retryAfterS });
  assert.deepEqual(errorHeaders(late(10)), { "x-should-retry": "true", "retry-after": "10" });
  assert.equal(errorBody(late(10)).error.metadata, undefined);
  assert.deepEqual(errorHeaders(late(11)), { "x-should-retry": "false" });
  const metadata = { requests_per_minute: 1 };
  assert.deepEqual(errorBody({ ...late(11), metadata }).error.metadata, { ...metadata, retry_after_s: 11 });
});

test("a thrown error has its answer", () => {
  assert.throws(
    () => fail("model_not_found", "no such model", { param: "model" }),
    (error: unknown) => {
      assert.ok(error instanceof GatewayError);
      assert.deepEqual(error.detail, { code: "model_not_found", message: "no such model", param: "model" });
      assert.equal(error.message, "no such model");
      return true;
    },
  );
});
