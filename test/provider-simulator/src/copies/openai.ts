import type { ProviderCopy } from "./copy.ts";

const error = (status: number, code: string | null, message: string, type = "invalid_request_error") => ({
  status,
  body: { error: { message, type, param: null, code } },
});
const row = (id: string) => ({ id, object: "model", created: 1_715_367_049, owned_by: "system" });

/** OpenAI: `openai-openapi` commit f85dbe2, and the guides to errors and rate limits. */
export const openaiCopy: ProviderCopy = {
  basePath: "/v1",
  hasKey: true,
  catalogue: { object: "list", data: ["gpt-small", "tts", "embed", "whisper"].map(row) },
  // `max_tokens` is refused by the reasoning models.
  limitFields: ["max_completion_tokens"],
  usage: ({ prompt, completion }) => ({
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      ...{ reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
    },
  }),
  beside: () => ({ service_tier: "default", system_fingerprint: "fp_44709d6fcb" }),
  inChunks: { service_tier: "default", usage: null, obfuscation: "x9f" },
  billing: {
    path: "/organization/costs",
    answer: (query) => ({
      object: "page",
      data: [
        {
          ...{ object: "bucket", start_time: Number(query.get("start_time")), end_time: Number(query.get("end_time")) },
          results: [
            {
              ...{ object: "organization.costs.result", amount: { value: 0.06, currency: "usd" }, line_item: null },
              ...{ project_id: null, api_key_id: null, quantity: null, quantity_unit: null },
            },
          ],
        },
      ],
      ...{ has_more: false, next_page: null },
    }),
  },
  errors: {
    context: error(400, "context_length_exceeded", "This model's maximum context length is 128000 tokens."),
    flagged: error(400, "invalid_prompt", "Invalid prompt: it was flagged as potentially violating our usage policy."),
    invalid: error(400, "unsupported_value", "Unsupported value: 'temperature' does not support 0.2 with this model."),
    gone: error(404, "model_not_found", "The model `gpt-small` does not exist or you do not have access to it."),
    busy: {
      ...error(429, "rate_limit_exceeded", "Rate limit reached for gpt-small on requests per min (RPM).", "requests"),
      headers: { "retry-after": "12", "x-ratelimit-limit-requests": "500", "x-ratelimit-reset-requests": "12s" },
    },
    credit: error(429, "insufficient_quota", "You exceeded your current quota.", "insufficient_quota"),
    denied: error(401, "invalid_api_key", "Incorrect API key provided."),
    down: error(500, null, "The server had an error while processing your request.", "server_error"),
  },
  others: {
    "/audio/speech": () => ({ type: "application/octet-stream", body: "sound" }),
    "/embeddings": () => ({
      body: JSON.stringify({
        ...{ object: "list", model: "embed", data: [{ object: "embedding", index: 0, embedding: [0.5] }] },
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    }),
  },
};
