import type { Profile } from "./profile.ts";

/**
 * OpenAI. From `openai/openai-openapi`, commit f85dbe2 of 21 August 2026, and its guide to rate limits:
 *
 * - `GET /models` lists ids without prices, so PRICES_FILE is needed;
 * - `max_tokens` is deprecated, and the reasoning models refuse it;
 * - there is no record of a chat answer that was not stored;
 * - `GET /organization/costs`: the costs of UTC days. It takes an admin key;
 * - failed requests count for the limit of requests a minute. No key is blocked for them.
 */
export const openai: Profile = {
  UPSTREAM_BASE_URL: "https://api.openai.com/v1",
  UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
  UPSTREAM_BILLING_URL: "/organization/costs?start_time={start_s}&end_time={end_s}&limit=1",
  UPSTREAM_SUB_KEYS: "off",
  UPSTREAM_FAILURES: "0",
};
