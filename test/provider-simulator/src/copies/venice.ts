import type { ProviderCopy } from "./copy.ts";

const usd = (amount: number) => ({ usd: amount, diem: amount });
const fields = [
  ...["model", "messages", "temperature", "top_p", "n", "seed", "stop", "stream", "stream_options", "user"],
  ...["max_tokens", "max_completion_tokens", "tools", "tool_choice", "response_format", "reasoning_effort"],
  "venice_parameters",
];
const row = (id: string, type: string, model_spec: object) => ({
  ...{ id, type, object: "model", owned_by: "venice.ai", created: 1_699_000_000, model_spec },
});

/** Venice: `api-docs` commit 601b7bb, `swagger.yaml`, `error-codes.mdx` and `rate-limiting.mdx`. */
export const veniceCopy: ProviderCopy = {
  basePath: "/api/v1",
  hasKey: true,
  catalogue: {
    object: "list",
    type: "all",
    data: [
      row("text-small", "text", {
        ...{ availableContextTokens: 32_768, maxCompletionTokens: 4_096, privacy: "private", traits: ["default"] },
        pricing: { input: usd(0.15), output: usd(0.6), cache_input: usd(0.03), cache_write: usd(0.1875) },
        capabilities: { quantization: "fp8", supportsFunctionCalling: true, supportsWebSearch: true },
      }),
      row("text-long", "text", {
        ...{ availableContextTokens: 1_000_000, maxCompletionTokens: 64_000, privacy: "anonymized" },
        ...{ regionRestrictions: ["EU"], deprecation: { removesAt: "2099-01-01", replacementModelId: "text-small" } },
        pricing: {
          ...{ input: usd(2.5), output: usd(15), cache_input: usd(0.5) },
          extended: { context_token_threshold: 200_000, input: usd(5), output: usd(22.5), cache_input: usd(1) },
        },
      }),
      row("text-beta", "text", {
        beta: true,
        pricing: { input: usd(1), output: usd(1) },
        availableContextTokens: 8_192,
      }),
      row("image-flat", "image", { pricing: { generation: usd(0.01), upscale: { "2x": usd(0.02) } } }),
      row("voice", "tts", { pricing: { input: usd(3.5) }, voices: ["af_sky"], default_voice: "af_sky" }),
      row("embed", "embedding", { maxInputTokens: 8_192, pricing: { input: usd(0.0125), output: usd(0.0125) } }),
      row("film", "video", {}),
    ],
  },
  limitFields: ["max_completion_tokens", "max_tokens"],
  fields,
  hiddenTokens({ venice_parameters }) {
    const { include_venice_system_prompt: isIncluded = true } = (venice_parameters ?? {}) as Record<string, unknown>;
    return isIncluded ? 1_200 : 0;
  },
  usage: ({ prompt, completion }) => ({
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 0 },
  }),
  beside: ({ prompt, completion }) => ({ cost: { usd: (prompt * 0.15 + completion * 0.6) / 1e6, diem: 0 } }),
  errors: {
    context: {
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 32768 tokens.",
          ...{ type: "invalid_request_error", param: "messages", code: "context_length_exceeded" },
        },
      },
    },
    flagged: {
      status: 422,
      body: { error: "Your prompt violates the content policy of Venice.ai.", suggested_prompt: "A quiet lake" },
    },
    invalid: {
      status: 400,
      body: {
        error: "Invalid request parameters",
        details: { _errors: [], seed: { _errors: ["Expected number"] } },
        issues: [{ code: "invalid_type", path: ["seed"], message: "Expected number, received string" }],
      },
    },
    gone: { status: 404, body: { error: "Specified model not found. Did you mean text-small?" } },
    busy: {
      status: 429,
      headers: { "retry-after": "30" },
      body: { error: "The model is overloaded. Try again later." },
    },
    credit: { status: 402, body: { error: "Insufficient USD or Diem balance to complete request." } },
    denied: { status: 401, body: { error: "Authentication failed" } },
    down: { status: 503, body: { error: "The model is temporarily offline" } },
  },
  // Two pages. A debit is negative.
  billing: {
    path: "/billing/usage-history",
    answer(query) {
      const cursor = query.get("cursor");
      const timestamp = cursor === null ? query.get("startTimestamp") : Buffer.from(cursor, "base64url").toString();
      const usage = (sku: string, more: object) => ({ timestamp, sku, notes: "API Inference", ...more });
      const inferenceDetails = { requestId: "chatcmpl-copy", promptTokens: 339, completionTokens: 227 };
      return {
        data: [
          usage("text-small-llm-input-mtoken", {
            ...{ units: 0.000339, pricePerUnitUsd: 0.15, amount: -0.00005085, currency: "USD", inferenceDetails },
          }),
          usage("image-flat-image-unit", {
            ...{ units: 1, pricePerUnitUsd: 0.01, amount: -0.01, currency: "DIEM", inferenceDetails: null },
          }),
        ],
        nextCursor: cursor === null ? Buffer.from(timestamp ?? "").toString("base64url") : null,
      };
    },
  },
  others: {
    "/images/generations": () => ({
      headers: { "x-venice-is-content-violation": "true" },
      body: JSON.stringify({ created: 1_713_833_628, data: [{ b64_json: "aGk=" }] }),
    }),
    "/audio/speech": () => ({ type: "audio/mpeg", body: "sound" }),
    "/embeddings": () => ({
      body: JSON.stringify({
        ...{ object: "list", model: "embed", data: [{ object: "embedding", index: 0, embedding: [0.5] }] },
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    }),
  },
};
