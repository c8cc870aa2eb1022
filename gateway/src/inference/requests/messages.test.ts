import assert from "node:assert/strict";
import { test } from "node:test";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as route from "./messages.ts";
import { parseCountTokens } from "./messages.ts";

const parseMessagesOrder = orderWith(route.parseMessagesOrder);

const hello = [{ role: "user", content: "Hi" }];
const order = (fields: object) =>
  parseMessagesOrder({ model: "text-1", max_tokens: 100, messages: hello, ...fields }, context);
const sent = (fields: object): Record<string, unknown> => JSON.parse(order(fields).upstreamBody);
const messagesOf = (messages: unknown, more: object = {}) => sent({ messages, ...more }).messages;

test("a body becomes a chat body, whose answer is written in the same shape", () => {
  const { upstreamPath, stream, format, headers } = order({ stream: true });
  assert.deepEqual([upstreamPath, stream, format?.idHeader], ["/chat/completions", true, "request-id"]);
  assert.deepEqual(headers, { "x-max-output-tokens": "100" });
  const fields = { system: "Be brief.", temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ["END"] };
  assert.deepEqual(sent(fields), {
    model: "text-1",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop: ["END"],
    max_completion_tokens: 100,
    stream: false,
    user: "u_1",
  });
});

test("a limit above the model's is the model's", () => {
  const { quote, headers } = order({ max_tokens: 64_000 });
  assert.deepEqual([quote.bound?.completionTokens, headers?.["x-max-output-tokens"]], [24_000, "24000"]);
  refused(() => order({ max_tokens: undefined }), "invalid_request", "max_tokens");
  refused(() => order({ max_tokens: 0 }), "invalid_request", "max_tokens");
});

test("fields that are not used are dropped and named, whatever they are called", () => {
  const { ignored } = order({ metadata: { user_id: "u" }, context_management: {}, betas: ["x"], service_tier: "auto" });
  assert.deepEqual(ignored, ["metadata", "context_management", "betas", "service_tier"]);
  refused(() => order({ mcp_servers: [{ url: "https://a.example" }] }), "unpriced_option", "mcp_servers");
  refused(() => order({ service_tier: "priority" }), "unpriced_option", "service_tier");
});

test("results of tools come before the rest of the message that brings them", () => {
  const messages = [
    { role: "user", content: [{ type: "text", text: "Go", cache_control: { type: "ephemeral", ttl: "1h" } }] },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I read." },
        { type: "tool_use", id: "toolu_1", name: "read", input: { path: "x" } },
        { type: "tool_use", id: "toolu_2", name: "list", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "And?" },
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { type: "tool_result", tool_use_id: "toolu_2", content: "gone", is_error: true },
      ],
    },
    { role: "system", content: "Hurry." },
  ];
  const call = (id: string, name: string, given: string) => ({
    id,
    type: "function",
    function: { name, arguments: given },
  });
  assert.deepEqual(messagesOf(messages), [
    { role: "user", content: [{ type: "text", text: "Go", cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: "I read.",
      tool_calls: [call("toolu_1", "read", '{"path":"x"}'), call("toolu_2", "list", "{}")],
    },
    { role: "tool", tool_call_id: "toolu_1", content: "ab" },
    { role: "tool", tool_call_id: "toolu_2", content: "Error: gone" },
    { role: "user", content: "And?" },
    { role: "system", content: "Hurry." },
  ]);
});

test("thinking that was sealed here comes back; any other is dropped", () => {
  const mine = context.reasoningSeal.seal({ account: context.account, model: "text-1" }, "I thought.");
  const content = (signature: unknown) => [
    { type: "thinking", thinking: "changed", signature },
    { type: "redacted_thinking", data: "x" },
    { type: "text", text: "So." },
  ];
  const read = (signature: unknown) =>
    messagesOf([...hello, { role: "assistant", content: content(signature) }, ...hello]) as object[];
  assert.deepEqual(read(mine)[1], { role: "assistant", content: "So.", reasoning_content: "I thought." });
  for (const other of ["ErUB3Y", "", null]) assert.deepEqual(read(other)[1], { role: "assistant", content: "So." });
});

test("images go to a model that takes them, also those of a tool; text documents are text", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  const url = { type: "image", source: { type: "url", url: "https://a.example/a.png" } };
  const document = { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "D" } };
  const messages = [
    { role: "user", content: [image, document] },
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [url] }] },
  ];
  const [first, , result, last] = messagesOf(messages, { model: "seeing" }) as { content: unknown }[];
  const sentImage = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  assert.deepEqual(first?.content, [sentImage, { type: "text", text: "T\n\nD" }]);
  assert.deepEqual(result?.content, "");
  assert.deepEqual(last?.content, [{ type: "image_url", image_url: { url: "https://a.example/a.png" } }]);
  refused(() => order({ messages }), "unsupported_parameter", "messages");
  const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "A" } };
  refused(
    () => order({ messages: [{ role: "user", content: [pdf] }] }),
    "unsupported_parameter",
    "messages[0].content[0].source.type",
  );
});

test("tools, their choice and the effort have their names in chat", () => {
  const tool = { name: "f", description: "d", input_schema: { type: "object" }, strict: true, defer_loading: true };
  const body = sent({ tools: [tool], tool_choice: { type: "any", disable_parallel_tool_use: true } });
  const parameters = tool.input_schema;
  assert.deepEqual(body.tools, [{ type: "function", function: { name: "f", description: "d", parameters } }]);
  assert.deepEqual([body.tool_choice, body.parallel_tool_calls], ["required", false]);
  const named = sent({ tools: [tool], tool_choice: { type: "tool", name: "f" } });
  assert.deepEqual(named.tool_choice, { type: "function", function: { name: "f" } });
  const effort = (fields: object) => sent({ max_tokens: 9000, ...fields }).reasoning_effort;
  assert.equal(effort({ thinking: { type: "disabled" } }), "none");
  assert.equal(effort({ thinking: { type: "adaptive", display: "summarized" } }), undefined);
  assert.equal(effort({ thinking: { type: "adaptive" }, output_config: { effort: "max" } }), "max");
  const budgets = [1000, 4000, 8000].map((budget_tokens) => effort({ thinking: { type: "enabled", budget_tokens } }));
  assert.deepEqual(budgets, ["low", "medium", "high"]);
  const schema = { type: "object" };
  const format = sent({ output_config: { format: { type: "json_schema", schema } } }).response_format;
  assert.deepEqual(format, { type: "json_schema", json_schema: { name: "output", schema } });
  const message = refused(
    () => order({ tools: [{ type: "web_search_20250305", name: "web_search" }] }),
    "unpriced_option",
    "tools[0].input_schema",
  );
  assert.match(message, /input_schema/);
});

test("sealed reasoning is opened, and the input of a call is its arguments as JSON", () => {
  const text = '"quoted" \\ and é👋\n'.repeat(60);
  const sealed = context.reasoningSeal.seal({ account: context.account, model: "seeing" }, "thought ".repeat(100));
  const body = {
    model: "seeing",
    max_tokens: 50,
    system: [{ type: "text", text, cache_control: { type: "ephemeral" } }],
    messages: [
      {
        role: "user",
        content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(900) } }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "x", signature: sealed },
          { type: "text", text },
          { type: "tool_use", id: "t", name: "write", input: { path: "x", text, more: [text] } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content: text }] },
    ],
  };
  const { messages } = JSON.parse(parseMessagesOrder(body, context).upstreamBody);
  const [, , assistant, result] = messages;
  assert.equal(assistant.reasoning_content, "thought ".repeat(100));
  assert.equal(result.content, `Error: ${text}`);
  assert.deepEqual(JSON.parse(assistant.tool_calls[0].function.arguments), { path: "x", text, more: [text] });
});

test("a prompt is estimated from all its texts, and an image is not the size of its data", () => {
  const count = (body: object): number => parseCountTokens({ model: "seeing", messages: hello, ...body }, context);
  const alone = count({});
  assert.ok(alone > 5 && alone < 60, String(alone));
  const system = count({ system: "x".repeat(4000) });
  assert.ok(system >= alone + 1000 && system < alone + 1020);
  const tools = count({ tools: [{ name: "f", input_schema: { description: "x".repeat(4000) } }] });
  assert.ok(tools >= alone + 1000);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(400_000) } };
  const seen = count({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, image] }] });
  assert.ok(seen > 1600 && seen < 1700, String(seen));
});
