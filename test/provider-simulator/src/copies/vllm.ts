import type { ProviderCopy } from "./copy.ts";

const error = (status: number, type: string, message: string) => ({
  status,
  body: { error: { message, type, param: null, code: status } },
});

/** vLLM: "OpenAI-Compatible Server" of docs.vllm.ai, and `vllm/entrypoints/openai/`. */
export const vllmCopy: ProviderCopy = {
  basePath: "/v1",
  hasKey: false,
  catalogue: {
    object: "list",
    data: [
      {
        ...{ id: "Qwen/small", object: "model", created: 1_790_000_000, owned_by: "vllm", root: "Qwen/small" },
        ...{ parent: null, max_model_len: 32_768, permission: [{ id: "modelperm-1", allow_sampling: true }] },
      },
    ],
  },
  limitFields: ["max_completion_tokens", "max_tokens"],
  usage: ({ prompt, completion }) => ({
    ...{ prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion },
    prompt_tokens_details: null,
  }),
  beside: () => ({ prompt_logprobs: null, kv_transfer_params: null }),
  errors: {
    context: error(400, "BadRequestError", "This model's maximum context length is 32768 tokens."),
    // A front of FastAPI answers before the engine.
    invalid: { status: 422, body: { detail: [{ type: "missing", loc: ["body", "messages"], msg: "Field required" }] } },
    gone: error(404, "NotFoundError", "The model `Qwen/small` does not exist."),
    denied: { status: 401, body: { error: "Unauthorized" } },
    down: error(500, "InternalServerError", "EngineCore encountered an issue."),
  },
};
