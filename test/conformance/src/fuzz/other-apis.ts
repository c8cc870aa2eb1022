import fc from "fast-check";

/** Bodies of the Responses API and of the Messages API: conversations with calls of tools, images and reasoning. */
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("[[tokens=3]]", "[[tokens=4]][[reasoning=2]]", "[[finish=tool_calls]][[tokens=2]]", "x".repeat(300)),
);
const name = fc.constantFrom("read", "write", "apply_patch");
const id = fc.constantFrom("call_1", "call_2", "call_3");
const model = fc.constantFrom(
  "sim-small",
  "sim-small",
  "sim-small",
  "sim-large",
  "sim-large",
  "sim-cached",
  "sim-reasoning",
  "nobody",
);
const schema = fc.constant({ type: "object", properties: { path: { type: "string" } } });
const url = "data:image/png;base64,iVBORw0KGgo=";

const functionTool = fc.record({ type: fc.constant("function"), name, description: text, parameters: schema });
const tool = fc.oneof(
  functionTool,
  fc.record({ type: fc.constant("custom"), name, description: text }),
  fc.record({
    type: fc.constant("namespace"),
    name: fc.constantFrom("mcp", "functions"),
    tools: fc.tuple(functionTool),
  }),
  fc.constantFrom({ type: "web_search" }, { type: "tool_search", execution: "client" }),
);
const part = fc.oneof(
  fc.record({ type: fc.constantFrom("input_text", "output_text"), text }),
  fc.record({ type: fc.constant("input_image"), image_url: fc.constant(url) }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));
const item = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "assistant", "developer", "system"), content }),
  fc.record({ type: fc.constant("function_call"), call_id: id, name, arguments: text }),
  fc.record({ type: fc.constant("custom_tool_call"), call_id: id, name, input: text }),
  fc.record({
    type: fc.constantFrom("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
    call_id: id,
    output: content,
  }),
  fc.record({ type: fc.constant("reasoning"), summary: fc.constant([]), encrypted_content: text }),
  fc.record({ type: fc.constant("additional_tools"), tools: fc.array(tool, { maxLength: 2 }) }),
  fc.constantFrom({ type: "item_reference", id: "msg_1" }, { type: "web_search_call", id: "ws_1" }),
);

export const responses = fc.record(
  {
    model,
    input: fc.oneof(text, fc.array(item, { minLength: 1, maxLength: 6 })),
    instructions: text,
    max_output_tokens: fc.integer({ min: 1, max: 50 }),
    stream: fc.boolean(),
    store: fc.constant(false),
    tools: fc.array(tool, { maxLength: 3 }),
    tool_choice: fc.constantFrom("auto", "none", "required"),
    reasoning: fc.record({ effort: fc.constantFrom("low", "high"), summary: fc.constant("auto") }),
    include: fc.constant(["reasoning.encrypted_content"]),
    client_metadata: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
  },
  { requiredKeys: ["model", "input", "max_output_tokens"] },
);

const textBlock = fc.record({ type: fc.constant("text"), text });
const image = fc.constant({ type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } });
const block = fc.oneof(
  textBlock,
  image,
  fc.record({ type: fc.constant("tool_use"), id, name, input: fc.dictionary(fc.string(), text, { maxKeys: 2 }) }),
  fc.record({
    type: fc.constant("tool_result"),
    tool_use_id: id,
    content: fc.oneof(text, fc.array(fc.oneof(textBlock, image), { maxLength: 2 })),
    is_error: fc.boolean(),
  }),
  fc.record({ type: fc.constant("thinking"), thinking: text, signature: text }),
);

export const messages = fc.record(
  {
    model,
    max_tokens: fc.integer({ min: 1, max: 200 }),
    messages: fc.array(
      fc.record({
        role: fc.constantFrom("user", "assistant", "system"),
        content: fc.oneof(text, fc.array(block, { maxLength: 4 })),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    system: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })),
    stream: fc.boolean(),
    tools: fc.array(fc.record({ name, description: text, input_schema: schema }), { maxLength: 2 }),
    thinking: fc.constantFrom({ type: "adaptive" }, { type: "enabled", budget_tokens: 1024 }, { type: "disabled" }),
    metadata: fc.constant({ user_id: "u" }),
    context_management: fc.constant({}),
  },
  { requiredKeys: ["model", "max_tokens", "messages"] },
);
