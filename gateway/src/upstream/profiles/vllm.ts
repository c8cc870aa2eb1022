import type { Profile } from "./profile.ts";

/**
 * vLLM's server (`vllm serve`). From docs.vllm.ai, "OpenAI-Compatible Server", and `vllm/entrypoints/openai/protocol.py`:
 *
 * - port 8000; no key unless it is started with `--api-key`;
 * - `GET /models` lists ids and `max_model_len`, and no prices, so PRICES_FILE is needed;
 * - `max_completion_tokens` limits the output. `max_tokens` is deprecated.
 */
export const vllm: Profile = {
  UPSTREAM_BASE_URL: "http://127.0.0.1:8000/v1",
  UPSTREAM_API_KEY: "",
  UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
  UPSTREAM_SUB_KEYS: "off",
  UPSTREAM_FAILURES: "0",
};
