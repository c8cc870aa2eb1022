import assert from "node:assert/strict";
import { test } from "node:test";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as chat from "./chat.ts";
import * as route from "./responses.ts";

const parseResponsesOrder = orderWith(route.parseResponsesOrder);
const parseChatOrder = orderWith(chat.parseChatOrder);

const order = (fields: object, more: object = {}) =>
  parseResponsesOrder({ model: "text-1", input: "Hi", ...fields }, { ...context, ...more });
const sent = (fields: object): Record<string, unknown> => JSON.parse(order(fields).upstreamBody);
const messagesOf = (input: unknown, more: object = {}) => sent({ input, ...more }).messages;

test("a body becomes a chat body, whose answer is written in the same shape", () => {
  const { upstreamPath, stream, ignored, format, headers } = order({ stream: true, store: false, include: ["x"] });
  assert.deepEqual([upstreamPath, stream, ignored], ["/chat/completions", true, ["store", "include"]]);
  assert.notEqual(format, undefined);
  assert.deepEqual(headers, { "x-max-output-tokens": "24000" });
  assert.deepEqual(
    sent({ instructions: "Be brief.", temperature: 0.5, reasoning: { effort: "low", summary: "auto" } }),
    {
      model: "text-1",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
      temperature: 0.5,
      reasoning_effort: "low",
      max_completion_tokens: 24_000,
      stream: false,
      user: "u_1",
    },
  );
});

test("a text's format and a limit have their names in chat", () => {
  const schema = { type: "object", properties: {} };
  const format = { type: "json_schema", name: "out", schema, strict: true };
  const body = sent({ text: { format, verbosity: "low" }, max_output_tokens: 100 });
  assert.deepEqual(body.response_format, { type: "json_schema", json_schema: { name: "out", schema, strict: true } });
  assert.deepEqual([body.verbosity, body.max_completion_tokens], ["low", 100]);
  assert.equal(sent({ max_output_tokens: 1e6 }).max_completion_tokens, 24_000);
  assert.equal(sent({ text: { format: { type: "text" } } }).response_format, undefined);
});

test("a client that set no limit gets the default, or what it can pay; it is told which", () => {
  const small = { ...context, defaultOutputTokens: 6000 };
  const { limitChoice, quote, headers } = parseResponsesOrder({ model: "text-1", input: "Hi" }, small);
  assert.deepEqual([quote.bound?.completionTokens, headers?.["x-max-output-tokens"]], [6000, "6000"]);
  assert.equal(limitChoice?.leastTokens, 4096);
  const rewritten = limitChoice?.rewrite(5000) ?? assert.fail();
  assert.equal(JSON.parse(Buffer.from(rewritten.upstreamBody).toString()).max_completion_tokens, 5000);
  assert.equal(rewritten.headers?.["x-max-output-tokens"], "5000");
  assert.equal(order({ max_output_tokens: 50 }).limitChoice, undefined);
});

test("a limit that the gateway chooses leaves room for the prompt in the model's context", () => {
  const limitOf = (input: string, more: object = {}): unknown => sent({ input, ...more }).max_completion_tokens;
  assert.equal(limitOf("a".repeat(150_000)), 24_000);
  const chosen = Number(limitOf("a".repeat(270_000)));
  assert.ok(chosen > 9_000 && chosen < 10_000, String(chosen));
  assert.equal(limitOf("a".repeat(299_000)), 4096);
  assert.equal(limitOf("a".repeat(270_000), { max_output_tokens: 24_000 }), 24_000);
});

test("reasoning, texts and calls are one message, and each call's answer follows it at once", () => {
  const input = [
    { type: "message", role: "developer", content: [{ type: "input_text", text: "Rules." }] },
    { role: "user", content: [{ type: "input_text", text: "Go" }] },
    {
      type: "message",
      role: "assistant",
      id: "msg_1",
      content: [{ type: "output_text", text: "I read.", annotations: [] }],
    },
    { type: "function_call", id: "fc_1", call_id: "a", name: "read", arguments: '{"path":"x"}' },
    { type: "function_call", call_id: "b", name: "list", arguments: "" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: " Both." }] },
    { role: "user", content: "Hurry" },
    { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "text" }] },
    { type: "function_call_output", call_id: "b", output: "files" },
    { type: "function_call", call_id: "c", name: "read", arguments: "{}" },
    { type: "function_call_output", call_id: "c", output: "done" },
  ];
  const call = (id: string, name: string, given: string) => ({
    id,
    type: "function",
    function: { name, arguments: given },
  });
  assert.deepEqual(messagesOf(input), [
    { role: "system", content: "Rules." },
    { role: "user", content: "Go" },
    {
      role: "assistant",
      content: "I read. Both.",
      tool_calls: [call("a", "read", '{"path":"x"}'), call("b", "list", "{}")],
    },
    { role: "tool", tool_call_id: "a", content: "text" },
    { role: "tool", tool_call_id: "b", content: "files" },
    { role: "user", content: "Hurry" },
    { role: "assistant", content: null, tool_calls: [call("c", "read", "{}")] },
    { role: "tool", tool_call_id: "c", content: "done" },
  ]);
});

test("reasoning that was sealed here comes back; any other is dropped", () => {
  const owner = { account: context.account, model: "text-1" };
  const mine = context.reasoningSeal.seal(owner, "I thought.");
  const other = context.reasoningSeal.seal({ ...owner, model: "other" }, "Elsewhere.");
  const input = [
    { role: "user", content: "Go" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: mine },
    { type: "reasoning", id: "rs_2", summary: [], encrypted_content: other },
    { type: "reasoning", summary: [{ type: "summary_text", text: "x" }] },
    { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: "ok" },
  ];
  const [, assistant] = messagesOf(input) as { reasoning_content?: string }[];
  assert.equal(assistant?.reasoning_content, undefined, "what came between is a message of its own");
  const direct = messagesOf([input[0], input[1], input[4], input[5]]) as { reasoning_content?: string }[];
  assert.equal(direct[1]?.reasoning_content, "I thought.");
});

const custom = {
  type: "custom",
  name: "apply_patch",
  description: "Patch.",
  format: { syntax: "lark", definition: "start: x" },
};

test("tools of every kind become functions, hosted ones are dropped and named", () => {
  const tools = [
    { type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: false },
    { type: "namespace", name: "mcp", description: "x", tools: [{ type: "function", name: "f", parameters: {} }] },
    { type: "namespace", name: "functions", tools: [{ type: "function", name: "bare" }] },
    custom,
    { type: "tool_search", execution: "client" },
    { type: "web_search", external_web_access: true },
  ];
  const { ignored } = order({ tools });
  const body = sent({ tools });
  const functions = (body.tools as { function: { name: string; description?: string } }[]).map((tool) => tool.function);
  assert.deepEqual(
    functions.map(({ name }) => name),
    ["f", "mcp__f", "bare", "apply_patch", "tool_search"],
  );
  assert.match(functions[3]?.description ?? "", /^Patch\..*`input`.*start: x/s);
  assert.deepEqual(ignored, ["tools.web_search"]);
  const twice = [{ type: "function", name: "mcp__f" }, tools[1]];
  refused(() => order({ tools: twice }), "invalid_request", "tools");
  refused(() => order({ tools: [{ type: "function" }] }), "invalid_request", "tools[0].name");
});

test("tools that come as items are tools", () => {
  const input = [
    { type: "additional_tools", role: "developer", tools: [custom] },
    { role: "user", content: "Go" },
    { type: "tool_search_call", call_id: "s", execution: "client", arguments: { query: "x" } },
    { type: "tool_search_output", call_id: "s", execution: "client", tools: [{ type: "function", name: "found" }] },
  ];
  const { tools, messages } = sent({ input }) as {
    tools: { function: { name: string } }[];
    messages: { role: string }[];
  };
  assert.deepEqual(
    tools.map((tool) => tool.function.name),
    ["apply_patch", "found"],
  );
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool"],
  );
});

test("a choice of a tool has its name in chat", () => {
  const tools = [
    { type: "function", name: "f" },
    { type: "namespace", name: "n", tools: [{ type: "function", name: "g" }] },
  ];
  const choice = (tool_choice: unknown) => sent({ tools, tool_choice });
  assert.equal(choice("required").tool_choice, "required");
  const named = { type: "function", function: { name: "n__g" } };
  assert.deepEqual(choice({ type: "function", name: "g", namespace: "n" }).tool_choice, named);
  const allowed = choice({ type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "f" }] });
  assert.deepEqual([(allowed.tools as unknown[]).length, allowed.tool_choice], [1, "required"]);
  const hosted = order({ tools, tool_choice: { type: "web_search" } });
  assert.deepEqual(hosted.ignored, ["tool_choice"]);
  assert.equal(sent({ tool_choice: "auto", parallel_tool_calls: true }).tool_choice, undefined);
});

test("images go to a model that takes them, also those of a tool", () => {
  const image = { type: "input_image", image_url: "https://a.example/a.png", detail: "original" };
  const input = [
    { role: "user", content: [{ type: "input_text", text: "See" }, image] },
    { type: "function_call", call_id: "a", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "seen" }, image] },
  ];
  const sentImage = { type: "image_url", image_url: { url: image.image_url, detail: "high" } };
  const messages = messagesOf(input, { model: "seeing" }) as { role: string; content: unknown }[];
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", [{ type: "text", text: "See" }, sentImage]],
      ["assistant", null],
      ["tool", "seen"],
      ["user", [sentImage]],
    ],
  );
  refused(() => order({ input }), "unsupported_parameter", "input");
});

test("what would need storage, and what cannot be served, is refused with what to send", () => {
  const refusals: [object, RegExp][] = [
    [{ store: true }, /whole conversation/],
    [{ previous_response_id: "resp_1" }, /whole conversation/],
    [{ conversation: "c" }, /whole conversation/],
    [{ prompt: { id: "p" } }, /instructions/],
    [{ background: true }, /stream/],
    [{ truncation: "auto" }, /disabled/],
    [{ input: [{ type: "item_reference", id: "msg_1" }] }, /store: false/],
    [{ input: [{ type: "compaction", encrypted_content: "x" }] }, /conversation/],
    [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }, /file as text/],
  ];
  for (const [fields, advice] of refusals) {
    const [field] = Object.keys(fields);
    const param =
      field === "input"
        ? "content" in (Object.values(fields)[0]?.[0] ?? {})
          ? "input[0].content[0].type"
          : "input[0].type"
        : (field ?? "");
    const message = refused(() => order(fields), "unsupported_parameter", param);
    assert.match(message, advice);
  }
  refused(() => order({ service_tier: "priority" }), "unpriced_option", "service_tier");
  for (const input of ["", [], undefined]) {
    if (input !== "") refused(() => order({ input }), "invalid_request", "input");
  }
});

test("a field that nobody knows is dropped and named", () => {
  const { ignored } = order({ access_programs: {}, client_metadata: { a: 1 }, "x\n": 1 });
  assert.deepEqual(ignored, ["access_programs", "client_metadata", "x\n"]);
});

test("a chat body with input and no messages is read as one of the Responses API, and answered as chat", () => {
  const body = { model: "text-1", input: [{ role: "user", content: "Hi" }], stream: true };
  const read = parseChatOrder({ ...body, stream_options: { include_usage: true } }, context);
  assert.deepEqual([read.format, read.includeUsage], [undefined, true]);
  assert.deepEqual(JSON.parse(read.upstreamBody).messages, [{ role: "user", content: "Hi" }]);
  assert.equal(parseChatOrder(body, context).includeUsage, false);
  refused(
    () => parseChatOrder({ ...body, messages: [{ role: "user", content: "x" }] }, context),
    "unsupported_parameter",
    "input",
  );
});

test("sealed reasoning is opened, and the input of a tool is its arguments as JSON", () => {
  const patch = '*** Begin Patch\n"quoted" \\ and é👋\n'.repeat(60);
  const sealed = context.reasoningSeal.seal({ account: context.account, model: "text-1" }, "thought ".repeat(100));
  const body = {
    model: "text-1",
    instructions: "Rule. ".repeat(100),
    tools: [{ ...custom, description: "d ".repeat(300), format: { syntax: "lark", definition: "g ".repeat(300) } }],
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "a ".repeat(300) },
          { type: "input_text", text: "b" },
        ],
      },
      { type: "reasoning", summary: [], encrypted_content: sealed },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "c ".repeat(300) }] },
      { type: "custom_tool_call", call_id: "1", name: "apply_patch", input: patch },
      { type: "custom_tool_call_output", call_id: "1", output: "ok ".repeat(200) },
      { type: "local_shell_call", call_id: "2", action: { type: "exec", command: ["bash", patch] } },
      {
        type: "local_shell_call_output",
        call_id: "2",
        output: [
          { type: "input_text", text: patch },
          { type: "input_text", text: "x" },
        ],
      },
    ],
  };
  const [, , assistant] = JSON.parse(parseResponsesOrder(body, context).upstreamBody).messages;
  assert.deepEqual(JSON.parse(assistant.tool_calls[0].function.arguments), { input: patch });
  assert.equal(assistant.reasoning_content, "thought ".repeat(100));
});

test("a grammar whose syntax is no text is shown without its name", () => {
  const format = { type: "grammar", definition: "start: /a/", syntax: { toString: 1, valueOf: 1 } };
  const [tool] = sent({ tools: [{ type: "custom", name: "a", format }] }).tools as {
    function: { description: string };
  }[];
  assert.match(tool?.function.description ?? "", /\n\nThe input's grammar:\nstart: \/a\/$/);
});

test("what a search found answers the searches in their order", () => {
  const messages = messagesOf([
    { type: "function_call", call_id: "f", name: "f", arguments: "{}" },
    { type: "tool_search_call", arguments: { query: "a" } },
    { type: "tool_search_call", arguments: { query: "b" } },
    { type: "function_call_output", call_id: "f", output: "1" },
    { type: "tool_search_output", tools: [] },
    { type: "tool_search_output", tools: [] },
  ]) as { role: string; tool_call_id?: string }[];
  const answered = messages.filter(({ role }) => role === "tool").map(({ tool_call_id }) => tool_call_id);
  assert.deepEqual(answered, ["f", "search_1", "search_2"]);
});

test("fields of chat that say what the answer is or costs are refused, and read as a limit where chat was asked", () => {
  const fields = { max_tokens: 9, max_completion_tokens: 9, n: 2, response_format: {}, messages: [] };
  for (const [field, value] of Object.entries(fields)) {
    refused(() => order({ [field]: value }), "unsupported_parameter", field);
  }
  assert.deepEqual(order({ n: 1 }).ignored, ["n"]);
  for (const field of ["max_tokens", "max_completion_tokens", "max_output_tokens"]) {
    const { quote } = parseChatOrder({ model: "text-1", input: "Hi", [field]: 9 }, context);
    assert.equal(quote.bound?.completionTokens, 9, field);
  }
});

test("a conversation of which nothing is left is refused, and not sent", () => {
  refused(() => order({ input: [{ type: "web_search_call" }] }), "invalid_request", "input");
  refused(() => order({ input: [{ type: "reasoning", encrypted_content: "x" }] }), "invalid_request", "input");
});
