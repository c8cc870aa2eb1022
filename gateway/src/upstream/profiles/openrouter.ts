import type { Profile } from "./profile.ts";

/**
 * OpenRouter. From its repository `OpenRouterTeam/docs`, commit c26125a of 22 August 2026:
 *
 * - `openapi/openapi.yaml`: URL, `GET /models` with dollars per token, `max_completion_tokens`, `GET /generation`;
 * - `GET /activity`: the `usage` in dollars of a UTC day, by model and endpoint. It takes a management key;
 * - `api_reference/limits.mdx`: limits of credit and of requests, and none of failed requests;
 * - `guides/features/message-transforms`: a plugin cuts long prompts for models of a small context unless it is disabled;
 * - keys are made at `/keys`, in a form that the gateway does not know.
 */
export const openrouter: Profile = {
  UPSTREAM_BASE_URL: "https://openrouter.ai/api/v1",
  UPSTREAM_CATALOGUE: "per-token",
  UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
  UPSTREAM_CHAT_EXTRAS: '{"plugins":[{"id":"context-compression","enabled":false}]}',
  UPSTREAM_RECORD_URL: "/generation?id={id}",
  UPSTREAM_BILLING_URL: "/activity?date={day}",
  UPSTREAM_SUB_KEYS: "off",
  UPSTREAM_FAILURES: "0",
};
