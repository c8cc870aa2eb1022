import type { ProviderCopy } from "./copy.ts";

const error = (code: number, type: string, message: string, more: object = {}) => ({
  status: code,
  body: { error: { code, message, type, ...more } },
});

/** llama.cpp: `tools/server/README.md` of `ggml-org/llama.cpp`. */
export const llamacppCopy: ProviderCopy = {
  basePath: "/v1",
  hasKey: false,
  catalogue: {
    models: [{ name: "small.gguf", model: "small.gguf", capabilities: ["completion"], details: { format: "gguf" } }],
    object: "list",
    data: [
      {
        ...{ id: "small.gguf", object: "model", created: 1_790_000_000, owned_by: "llamacpp" },
        meta: { vocab_type: 2, n_vocab: 128_256, n_ctx_train: 16_384, n_embd: 4_096, n_params: 8_030_261_312 },
      },
    ],
  },
  limitFields: ["max_tokens", "n_predict"],
  usage: ({ prompt, completion }) => ({
    ...{ completion_tokens: completion, prompt_tokens: prompt, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: 0 },
  }),
  beside: ({ prompt, completion }) => ({
    system_fingerprint: "b6814-a1b2c3d",
    timings: { prompt_n: prompt, prompt_ms: 30.1, predicted_n: completion, predicted_per_second: 91.5 },
  }),
  errors: {
    context: error(400, "exceed_context_size_error", "the request exceeds the available context size", {
      ...{ n_prompt_tokens: 17_000, n_ctx: 16_384 },
    }),
    invalid: error(400, "invalid_request_error", "Unsupported param: echo"),
    denied: error(401, "authentication_error", "Invalid API Key"),
    busy: error(503, "unavailable_error", "Loading model"),
    down: error(500, "server_error", "the slot is not available"),
  },
};
