/**
 * The answers of OpenAI's API reference as JSON schemas: the required fields, and the types of the optional ones. More
 * fields are allowed. Two requirements are left out, because no compatible
 * provider but OpenAI meets them: a message's `refusal`, and `logprobs` of a choice, may be absent.
 */
const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const count = { type: "integer", minimum: 0 };
const countsOrNull = { type: ["object", "null"], additionalProperties: count };

function object(required: Record<string, object>, optional: Record<string, object> = {}): object {
  return { type: "object", required: Object.keys(required), properties: { ...required, ...optional } };
}

function list(items: object, more: object = {}): object {
  return { type: "array", items, ...more };
}

const usage = object(
  { prompt_tokens: count, completion_tokens: count, total_tokens: count },
  { prompt_tokens_details: countsOrNull, completion_tokens_details: countsOrNull },
);
const finishReasons = ["stop", "length", "tool_calls", "content_filter", "function_call"];
const toolCall = object({ id: text, type: { const: "function" }, function: object({ name: text, arguments: text }) });
const toolCallDelta = object(
  { index: count },
  { id: text, type: { const: "function" }, function: object({}, { name: text, arguments: text }) },
);

const message = object(
  { role: { const: "assistant" }, content: textOrNull },
  { refusal: textOrNull, tool_calls: list(toolCall, { minItems: 1 }) },
);
const delta = object(
  {},
  {
    role: { enum: ["developer", "system", "user", "assistant", "tool"] },
    content: textOrNull,
    refusal: textOrNull,
    tool_calls: list(toolCallDelta),
  },
);

const completionChoice = object({ index: count, finish_reason: { enum: finishReasons }, message });
const chunkChoice = object({ index: count, finish_reason: { enum: [...finishReasons, null] }, delta });

const model = object({ id: text, object: { const: "model" }, created: count, owned_by: text });

/** An embedding is numbers, or their bytes in base 64 for who asked so. */
const embedding = object({
  object: { const: "embedding" },
  index: count,
  embedding: { oneOf: [list({ type: "number" }, { minItems: 1 }), { type: "string", minLength: 1 }] },
});

/** The API's own error object: all four fields are always there. */
const error = object({
  error: {
    ...object({ message: { type: "string", minLength: 1 }, type: text, param: textOrNull, code: textOrNull }),
    properties: { message: text, type: text, param: textOrNull, code: textOrNull, metadata: { type: "object" } },
    additionalProperties: false,
  },
});

export const openaiSchemas = {
  completion: object(
    {
      id: text,
      object: { const: "chat.completion" },
      created: count,
      model: text,
      choices: list(completionChoice, { minItems: 1 }),
    },
    { usage, service_tier: textOrNull, system_fingerprint: text },
  ),
  chunk: object(
    {
      id: text,
      object: { const: "chat.completion.chunk" },
      created: count,
      model: text,
      choices: list(chunkChoice),
    },
    { usage: { oneOf: [usage, { type: "null" }] }, service_tier: textOrNull, system_fingerprint: text },
  ),
  embeddings: object({
    object: { const: "list" },
    model: text,
    data: list(embedding, { minItems: 1 }),
    usage: object({ prompt_tokens: count, total_tokens: count }),
  }),
  images: object({ created: count }, { data: list(object({}, { b64_json: text, url: text, revised_prompt: text })) }),
  models: object({ object: { const: "list" }, data: list(model) }),
  model,
  error: { ...error, additionalProperties: false },
};

export type OpenaiSchema = keyof typeof openaiSchemas;
