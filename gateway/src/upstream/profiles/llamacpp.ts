import type { Profile } from "./profile.ts";

/**
 * llama.cpp's server (`llama-server`). From `tools/server/README.md` of `ggml-org/llama.cpp`:
 *
 * - port 8080; no key unless it is started with `--api-key`;
 * - `GET /models` has a list `models` and a list `data`, with `meta.n_ctx_train` and without prices, so PRICES_FILE is
 *   needed;
 * - `max_tokens` limits the output.
 */
export const llamacpp: Profile = {
  UPSTREAM_BASE_URL: "http://127.0.0.1:8080/v1",
  UPSTREAM_API_KEY: "",
  UPSTREAM_OUTPUT_FIELD: "max_tokens",
  UPSTREAM_SUB_KEYS: "off",
  UPSTREAM_FAILURES: "0",
};
