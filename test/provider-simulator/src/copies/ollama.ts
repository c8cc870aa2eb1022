import type { ProviderCopy } from "./copy.ts";

const error = (status: number, message: string, type = "api_error") => ({
  status,
  body: { error: { message, type, param: null, code: null } },
});

/** Ollama: "OpenAI compatibility" of docs.ollama.com, and `openai/openai.go`. */
export const ollamaCopy: ProviderCopy = {
  basePath: "/v1",
  hasKey: false,
  catalogue: {
    object: "list",
    data: [{ id: "llama3.2:latest", object: "model", created: 1_790_000_000, owned_by: "library" }],
  },
  limitFields: ["max_tokens"],
  usage: ({ prompt, completion }) => ({
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  }),
  beside: () => ({ system_fingerprint: "fp_ollama" }),
  inChunks: { system_fingerprint: "fp_ollama" },
  errors: {
    invalid: error(400, "invalid message format", "invalid_request_error"),
    gone: error(404, 'model "llama3.2:latest" not found, try pulling it first', "not_found_error"),
    busy: error(503, "server busy, please try again. maximum pending requests exceeded"),
    down: error(500, "llama runner process has terminated: exit status 2"),
  },
};
