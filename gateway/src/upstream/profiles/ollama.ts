import type { Profile } from "./profile.ts";

/**
 * Ollama. From docs.ollama.com, "OpenAI compatibility", and its issues:
 *
 * - port 11434; a key is ignored;
 * - `max_tokens` is in the list of fields; `max_completion_tokens` is ignored (pull request 14464, open in 2026). A
 *   release was reported to ignore both (issue 18575), which the probe of the start finds;
 * - `GET /models` lists ids without prices and contexts, so PRICES_FILE is needed.
 */
export const ollama: Profile = {
  UPSTREAM_BASE_URL: "http://127.0.0.1:11434/v1",
  UPSTREAM_API_KEY: "",
  UPSTREAM_OUTPUT_FIELD: "max_tokens",
  UPSTREAM_SUB_KEYS: "off",
  UPSTREAM_FAILURES: "0",
};
