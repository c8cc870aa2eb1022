/** Defaults of a provider: texts of settings by name, as an environment would have them. An empty one means none. */
export type Profile = { readonly [setting: `UPSTREAM_${string}`]: string };

export const profiles = {
  /** Any OpenAI-compatible provider: the defaults of the settings. */
  generic: {},

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
  venice: {
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
  },

  /**
   * OpenRouter. From its repository `OpenRouterTeam/docs`, commit c26125a of 22 August 2026:
   *
   * - `openapi/openapi.yaml`: URL, `GET /models` with dollars per token, `max_completion_tokens`, `GET /generation`;
   * - `GET /activity`: the `usage` in dollars of a UTC day, by model and endpoint. It takes a management key;
   * - `api_reference/limits.mdx`: limits of credit and of requests, and none of failed requests;
   * - `guides/features/message-transforms`: a plugin cuts long prompts for models of a small context unless it is disabled;
   * - keys are made at `/keys`, in a form that the gateway does not know.
   */
  openrouter: {
    UPSTREAM_BASE_URL: "https://openrouter.ai/api/v1",
    UPSTREAM_CATALOGUE: "per-token",
    UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
    UPSTREAM_CHAT_EXTRAS: '{"plugins":[{"id":"context-compression","enabled":false}]}',
    UPSTREAM_RECORD_URL: "/generation?id={id}",
    UPSTREAM_BILLING_URL: "/activity?date={day}",
    UPSTREAM_SUB_KEYS: "off",
    UPSTREAM_FAILURES: "0",
  },

  /**
   * OpenAI. From `openai/openai-openapi`, commit f85dbe2 of 21 August 2026, and its guide to rate limits:
   *
   * - `GET /models` lists ids without prices, so PRICES_FILE is needed;
   * - `max_tokens` is deprecated, and the reasoning models refuse it;
   * - there is no record of a chat answer that was not stored;
   * - `GET /organization/costs`: the costs of UTC days. It takes an admin key;
   * - failed requests count for the limit of requests a minute. No key is blocked for them.
   */
  openai: {
    UPSTREAM_BASE_URL: "https://api.openai.com/v1",
    UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
    UPSTREAM_BILLING_URL: "/organization/costs?start_time={start_s}&end_time={end_s}&limit=1",
    UPSTREAM_SUB_KEYS: "off",
    UPSTREAM_FAILURES: "0",
  },

  /**
   * vLLM's server (`vllm serve`). From docs.vllm.ai, "OpenAI-Compatible Server", and `vllm/entrypoints/openai/protocol.py`:
   *
   * - port 8000; no key unless it is started with `--api-key`;
   * - `GET /models` lists ids and `max_model_len`, and no prices, so PRICES_FILE is needed;
   * - `max_completion_tokens` limits the output. `max_tokens` is deprecated.
   */
  vllm: {
    UPSTREAM_BASE_URL: "http://127.0.0.1:8000/v1",
    UPSTREAM_API_KEY: "",
    UPSTREAM_OUTPUT_FIELD: "max_completion_tokens",
    UPSTREAM_SUB_KEYS: "off",
    UPSTREAM_FAILURES: "0",
  },

  /**
   * Ollama. From docs.ollama.com, "OpenAI compatibility", and its issues:
   *
   * - port 11434; a key is ignored;
   * - `max_tokens` is in the list of fields; `max_completion_tokens` is ignored (pull request 14464, open in 2026). A
   *   release was reported to ignore both (issue 18575), which the probe of the start finds;
   * - `GET /models` lists ids without prices and contexts, so PRICES_FILE is needed.
   */
  ollama: {
    UPSTREAM_BASE_URL: "http://127.0.0.1:11434/v1",
    UPSTREAM_API_KEY: "",
    UPSTREAM_OUTPUT_FIELD: "max_tokens",
    UPSTREAM_SUB_KEYS: "off",
    UPSTREAM_FAILURES: "0",
  },

  /**
   * llama.cpp's server (`llama-server`). From `tools/server/README.md` of `ggml-org/llama.cpp`:
   *
   * - port 8080; no key unless it is started with `--api-key`;
   * - `GET /models` has a list `models` and a list `data`, with `meta.n_ctx_train` and without prices, so PRICES_FILE is
   *   needed;
   * - `max_tokens` limits the output.
   */
  llamacpp: {
    UPSTREAM_BASE_URL: "http://127.0.0.1:8080/v1",
    UPSTREAM_API_KEY: "",
    UPSTREAM_OUTPUT_FIELD: "max_tokens",
    UPSTREAM_SUB_KEYS: "off",
    UPSTREAM_FAILURES: "0",
  },
} satisfies Record<string, Profile>;
export type ProfileName = keyof typeof profiles;
export const profileNames = Object.keys(profiles) as [ProfileName, ...ProfileName[]];
