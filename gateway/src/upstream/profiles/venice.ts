import type { Profile } from "./profile.ts";

/**
 * Venice. From its repository `veniceai/api-docs`, commit 601b7bb of 22 August 2026:
 *
 * - `swagger.yaml`, version 20260821.193530: URL, catalogue, `max_completion_tokens`, `POST /api_keys`;
 * - `swagger.yaml`, `VeniceParameters`: `include_venice_system_prompt` is true unless a request says otherwise, and the
 *   caller pays for that prompt;
 * - `swagger.yaml`, `/image/generate`: a blocked image has status 200 and `x-venice-is-content-violation: true`, and is
 *   not billed;
 * - `/billing/usage-history`: rows of `inferenceDetails` by request id, and of `amount` in dollars or DIEM, negative for a
 *   debit. It takes an ADMIN key, and has further pages at `nextCursor`. `/billing/usage` ended on 16 September 2026;
 * - `rate-limiting.mdx`, "Abuse Protection": more than 20 failed requests within 30 s block the key for 30 s.
 */
export const venice: Profile = {
  UPSTREAM_BASE_URL: "https://api.venice.ai/api/v1",
  UPSTREAM_CATALOGUE: "model-spec",
  UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
  UPSTREAM_CHAT_EXTRAS: '{"venice_parameters":{"include_venice_system_prompt":false}}',
  UPSTREAM_BLOCKED_HEADER: "x-venice-is-content-violation",
  UPSTREAM_RECORD_URL: "/billing/usage-history?pageSize=1000&startTimestamp={since}",
  UPSTREAM_BILLING_URL: "/billing/usage-history?pageSize=1000&startTimestamp={start}&endTimestamp={end}",
  UPSTREAM_SUB_KEYS: "on",
  UPSTREAM_FAILURES: "18",
  UPSTREAM_FAILURES_MS: "30000",
};
