import type { ProviderCopy } from "./copy.ts";

const error = (status: number, message: string, metadata?: object) => ({
  status,
  body: { error: { code: status, message, ...(metadata === undefined ? {} : { metadata }) }, user_id: "user_2x" },
});
const row = (id: string, pricing: object, more: object = {}) => ({
  ...{ id, canonical_slug: id, name: id, created: 1_741_818_122, context_length: 65_536, pricing },
  architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"], tokenizer: "Other" },
  top_provider: { context_length: 65_536, max_completion_tokens: 8_192, is_moderated: true },
  ...{ per_request_limits: null, supported_parameters: ["max_tokens", "tools", "structured_outputs"], ...more },
});

/** OpenRouter: `OpenRouterTeam/docs` commit c26125a, `openapi.yaml`, errors, limits, streaming and usage accounting. */
export const openrouterCopy: ProviderCopy = {
  basePath: "/api/v1",
  hasKey: true,
  catalogue: {
    data: [
      row("maker/small", {
        ...{ prompt: "0.00000015", completion: "0.0000006", request: "0", image: "0", web_search: "0" },
        ...{ internal_reasoning: "0", input_cache_read: "0.000000075", input_cache_write: "0.00000018" },
      }),
      row("maker/free:free", { prompt: "0", completion: "0" }),
      row("openrouter/auto", { prompt: "-1", completion: "-1" }),
    ],
  },
  limitFields: ["max_completion_tokens", "max_tokens"],
  usage: ({ prompt, completion }) => ({
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    ...{ cost: (prompt * 0.15 + completion * 0.6) / 1e6, is_byok: false },
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0, video_tokens: 0 },
    cost_details: { upstream_inference_cost: null },
    completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0 },
  }),
  beside: () => ({ provider: "Maker", system_fingerprint: null }),
  inChunks: { provider: "Maker" },
  comment: ": OPENROUTER PROCESSING",
  billing: {
    path: "/activity",
    answer: (query) => ({
      data: ["maker/small", "maker/free:free"].map((model, index) => ({
        ...{ date: query.get("date"), model, model_permaslug: model, endpoint_id: `endpoint-${index}` },
        ...{ provider_name: "Maker", usage: index === 0 ? 0.0150003 : 0, byok_usage_inference: 0.012, requests: 5 },
        ...{ prompt_tokens: 50, completion_tokens: 125, reasoning_tokens: 25 },
      })),
    }),
  },
  errors: {
    context: error(400, "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000."),
    flagged: error(403, "maker/small requires moderation. Your input was flagged for violence.", {
      ...{ reasons: ["violence"], flagged_input: "...", provider_name: "Maker", model_slug: "maker/small" },
    }),
    invalid: error(400, "Input required: specify a prompt or messages"),
    gone: error(404, "No endpoints found for maker/small."),
    busy: {
      ...error(429, "Rate limit exceeded: free-models-per-min.", { headers: { "X-RateLimit-Remaining": "0" } }),
      headers: { "retry-after": "7" },
    },
    credit: error(402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits"),
    denied: error(401, "No auth credentials found"),
    down: error(502, "Provider returned error", { provider_name: "Maker", raw: "upstream connect error" }),
  },
};
