import assert from "node:assert/strict";
import { test } from "node:test";
import { context, orderWith, refused } from "../../../test/models.ts";
import { parseJsonBody } from "../../http/json/parse-json-body.ts";
import * as route from "./chat.ts";

const parseChatOrder = orderWith(route.parseChatOrder);

const messages = [{ role: "user", content: "Hi" }];
const order = (fields: object, more: object = {}) =>
  parseChatOrder({ model: "text-1", messages, ...fields }, { ...context, ...more });
const sent = (fields: object, more: object = {}): Record<string, unknown> =>
  JSON.parse(order(fields, more).upstreamBody);

test("a body is written anew: the model's id, our user, an output limit, and what was allowed", () => {
  const { upstreamPath, upstreamBody, model, stream, includeUsage, ignored, quote } = order({
    model: "smart",
    temperature: 0.5,
    stop: ["a", "b"],
    metadata: { a: "b" },
    user: "client",
    seed: null,
  });
  assert.deepEqual(JSON.parse(upstreamBody), {
    model: "text-1",
    messages,
    temperature: 0.5,
    stop: ["a", "b"],
    max_completion_tokens: 24_000,
    stream: false,
    user: "u_1",
  });
  assert.deepEqual([upstreamPath, model.id, stream, includeUsage], ["/chat/completions", "text-1", false, false]);
  assert.deepEqual(ignored, ["metadata", "user"]);
  assert.equal(quote.snapshotId, "snap");
});

test("the maximum is the sent body's bytes, 32 a message and 256, and the output of all choices", () => {
  const { quote, upstreamBody } = order({ max_tokens: 100, n: 3, messages: [{ role: "user", content: "é👋" }] });
  const promptTokens = Buffer.byteLength(upstreamBody) + 32 + 256;
  assert.deepEqual(quote.bound, { promptTokens, completionTokens: 300 });
  assert.equal(quote.maxNanoUsd, promptTokens * 2000 + 300 * 10_000);
  assert.equal(JSON.parse(upstreamBody).n, 3);
});

test("a prompt of more bytes than the context has tokens is not refused: its bound is the context", () => {
  const { quote } = order({ messages: [{ role: "user", content: "x".repeat(200_000) }] });
  assert.equal(quote.bound?.promptTokens, 100_000);
});

test("a stream always asks the provider for usage, and shows it to a client that asked", () => {
  assert.deepEqual(sent({ stream: true }).stream_options, { include_usage: true });
  assert.equal(order({ stream: true }).includeUsage, false);
  assert.equal(order({ stream: true, stream_options: { include_usage: true } }).includeUsage, true);
  assert.equal(order({ stream: true, usage: { include: true } }).includeUsage, true);
  assert.equal(sent({ stream: true, usage: { include: true } }).usage, undefined);
  assert.deepEqual(order({ stream: true, stream_options: { include_usage: false } }).stream, true);
  const whole = order({ stream_options: { include_usage: true } });
  assert.deepEqual([whole.includeUsage, whole.ignored], [false, ["stream_options"]]);
  assert.equal(JSON.parse(whole.upstreamBody).stream_options, undefined);
});

test("the operator's fields win over the client's, and cannot touch what decides the price", () => {
  const chatExtras = {
    temperature: 1,
    model: "dear",
    messages: [],
    n: 8,
    max_completion_tokens: 9,
    max_tokens: 9,
    stream: true,
    user: "x",
  };
  const body = sent({ temperature: 0, max_tokens: 5 }, { chatExtras });
  assert.deepEqual(body, {
    model: "text-1",
    messages,
    temperature: 1,
    max_completion_tokens: 5,
    stream: false,
    user: "u_1",
  });
  assert.deepEqual(sent({}, { chatExtras: { options: { hidden: false } } }).options, { hidden: false });
});

test("the operator's fields are part of the bound", () => {
  const extras = { chatExtras: { hidden: "x".repeat(500) } };
  const promptTokens = (more: object) => order({}, more).quote.bound?.promptTokens ?? 0;
  assert.ok(promptTokens(extras) > promptTokens({}) + 500);
});

test("harmless fields are dropped and named; what they say otherwise is refused", () => {
  const harmless = {
    store: false,
    metadata: {},
    user: "u",
    service_tier: "auto",
    safety_identifier: "s",
    modalities: ["text"],
    logit_bias: {},
    web_search: false,
    functions: [],
  };
  const { ignored, upstreamBody } = order(harmless);
  assert.deepEqual(ignored, Object.keys(harmless));
  for (const field of Object.keys(harmless)) {
    if (field !== "user") assert.equal(field in JSON.parse(upstreamBody), false, field);
  }
  for (const fields of [{ store: true }, { modalities: ["text", "audio"] }, { logit_bias: { 5: 1 } }]) {
    refused(() => order(fields), "unsupported_parameter", Object.keys(fields)[0] ?? null);
  }
});

test("every option with a price that is not modelled is refused by name", () => {
  const options = {
    service_tier: "priority",
    web_search_options: {},
    web_search: true,
    enable_web_search: "auto",
    enable_web_scraping: true,
    enable_x_search: true,
    search_parameters: {},
    plugins: [{ id: "web" }],
    audio: { voice: "a" },
    prediction: { type: "content", content: "x" },
    character_slug: "x",
  };
  for (const [field, value] of Object.entries(options)) {
    assert.match(
      refused(() => order({ [field]: value }), "unpriced_option", field),
      /price/,
    );
  }
  refused(() => order({ tools: [{ type: "web_search" }] }), "unpriced_option", "tools[0].type");
  const long = [{ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1h" } }];
  const param = "messages[0].content[0].cache_control.ttl";
  refused(() => order({ messages: [{ role: "user", content: long }] }), "unpriced_option", param);
});

test("of venice_parameters the free members pass, the priced ones are refused, others are dropped and named", () => {
  const chatExtras = { venice_parameters: { include_venice_system_prompt: false } };
  const venice_parameters = {
    ...{ disable_thinking: true, strip_thinking_response: null, include_venice_system_prompt: false },
    ...{ enable_web_search: "off", enable_web_citations: true, never_heard_of: 1 },
  };
  const { ignored, upstreamBody } = order({ venice_parameters }, { chatExtras });
  assert.deepEqual(JSON.parse(upstreamBody).venice_parameters, {
    disable_thinking: true,
    include_venice_system_prompt: false,
  });
  const names = ["include_venice_system_prompt", "enable_web_search", "enable_web_citations", "never_heard_of"];
  assert.deepEqual(
    ignored,
    names.map((name) => `venice_parameters.${name}`),
  );
  const elsewhere = order({ venice_parameters });
  assert.deepEqual(elsewhere.ignored, ["venice_parameters"]);
  assert.equal(JSON.parse(elsewhere.upstreamBody).venice_parameters, undefined);
  for (const [member, value] of Object.entries({
    ...{ include_venice_system_prompt: true, enable_web_search: "auto", enable_web_scraping: true },
    ...{ enable_x_search: true, character_slug: "x" },
  })) {
    const param = `venice_parameters.${member}`;
    refused(() => order({ venice_parameters: { [member]: value } }), "unpriced_option", param);
  }
  const sealed = { venice_parameters: { enable_e2ee: true } };
  refused(() => order(sealed), "unsupported_parameter", "venice_parameters.enable_e2ee");
  const wrong = { venice_parameters: { disable_thinking: "yes" } };
  refused(() => order(wrong, { chatExtras }), "invalid_request", "venice_parameters.disable_thinking");
  refused(() => order({ venice_parameters: [] }), "invalid_request", "venice_parameters");
});

test("fields that change the meaning, and fields that nobody knows, are refused by name", () => {
  const fields = ["function_call", "best_of", "max_output_tokens", "fallbacks", "provider", "foo", "constructor"];
  for (const field of fields) refused(() => order({ [field]: ["x"] }), "unsupported_parameter", field);
  const proto = parseJsonBody(
    Buffer.from('{"model":"text-1","messages":[{"role":"user","content":"x"}],"__proto__":{"n":100}}'),
  );
  refused(() => parseChatOrder(proto, context), "unsupported_parameter", "__proto__");
});

test("a wrong value is refused with its path", () => {
  const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
  const wrong: [object, string][] = [
    [{ messages: undefined }, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: "hi" }, "messages"],
    [{ messages: Array(2049).fill(messages[0]) }, "messages"],
    [user(5), "messages[0].content"],
    [user(undefined), "messages[0].content"],
    [user([]), "messages[0].content"],
    [user([{ type: "text", text: 5 }]), "messages[0].content[0].text"],
    [{ messages: [...messages, { role: "wizard", content: "x" }] }, "messages[1].role"],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].tool_call_id"],
    [{ messages: [{ role: "assistant" }] }, "messages[0].content"],
    [{ messages: [{ role: "assistant", content: null, tool_calls: [] }] }, "messages[0].content"],
    [{ temperature: "1" }, "temperature"],
    [{ temperature: 2.1 }, "temperature"],
    [{ n: 0 }, "n"],
    [{ n: 9 }, "n"],
    [{ n: 128 }, "n"],
    [{ n: 1.5 }, "n"],
    [{ stop: Array(5).fill("x") }, "stop"],
    [{ stop: [1] }, "stop[0]"],
    [{ stream: "true" }, "stream"],
    [{ top_logprobs: 21 }, "top_logprobs"],
    [{ reasoning_effort: "huge" }, "reasoning_effort"],
    [{ response_format: { type: "xml" } }, "response_format.type"],
    [{ tools: [{ type: "function" }] }, "tools[0].function"],
    [{ tools: Array(129).fill({ type: "function", function: { name: "f" } }) }, "tools"],
    [{ tool_choice: "some" }, "tool_choice"],
  ];
  for (const [fields, param] of wrong) refused(() => order(fields), "invalid_request", param);
  refused(() => order({ reasoning: { budget: 5 } }), "unsupported_parameter", "reasoning.budget");
  refused(() => route.parseChatOrder([] as never, context), "invalid_request", null);
});

test("members of messages that nobody knows are dropped and named, unless they hold content", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, provider_specific_fields: {} };
  const sent = [
    { role: "user", content: "x", id: "m1", createdAt: 5, cache_control: { type: "ephemeral", ttl: "1h" }, images: [] },
    { role: "assistant", content: null, thinking_blocks: [{}], tool_calls: [call], reasoning: null, extra: null },
    { role: "tool", tool_call_id: "c", content: "5", is_error: false },
  ];
  const { ignored, upstreamBody } = order({ messages: sent });
  const { provider_specific_fields: _, ...kept } = call;
  assert.deepEqual(JSON.parse(upstreamBody).messages, [
    { role: "user", content: "x" },
    { role: "assistant", content: null, tool_calls: [kept] },
    { role: "tool", tool_call_id: "c", content: "5" },
  ]);
  const names = ["id", "createdAt", "images", "thinking_blocks", "tool_calls.provider_specific_fields", "is_error"];
  assert.deepEqual(
    ignored,
    [...names, "cache_control"].map((name) => `messages.${name}`),
  );
  for (const member of ["images", "attachments", "files"]) {
    const message = { role: "user", content: "x", [member]: ["data"] };
    refused(() => order({ messages: [message] }), "unsupported_parameter", `messages[0].${member}`);
  }
});

test("what a provider gave with a call goes back to it", () => {
  const extra_content = { google: { thought_signature: "abc" } };
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, extra_content };
  const sent = [
    { role: "user", content: "x" },
    { role: "assistant", content: "", tool_calls: [call], extra_content },
    { role: "tool", tool_call_id: "c", content: "5" },
  ];
  const { ignored, upstreamBody } = order({ messages: sent });
  assert.deepEqual([JSON.parse(upstreamBody).messages, ignored], [sent, []]);
});

test("an answer that is sent back as a message loses what only answers have", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const answer = {
    role: "assistant",
    content: null,
    refusal: null,
    annotations: [{}],
    audio: null,
    function_call: null,
  };
  const result = { role: "tool", tool_call_id: "c", content: "5" };
  const back = order({ messages: [...messages, { ...answer, tool_calls: [{ ...call, index: 0 }] }, result] });
  assert.deepEqual(JSON.parse(back.upstreamBody).messages, [
    ...messages,
    { role: "assistant", content: null, tool_calls: [call] },
    result,
  ]);
  assert.deepEqual(back.ignored, ["messages.annotations"]);
});

test("parts that the provider fetches reserve the whole context, of a model that takes them and has one", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const withPart = (part: object) => ({ messages: [{ role: "user", content: [{ type: "text", text: "x" }, part] }] });
  const at = "messages[0].content[1].type";
  assert.equal(order({ model: "seeing", ...withPart(image) }).quote.bound?.promptTokens, 100_000);
  const video = { type: "video_url", video_url: { url: "https://example.com/v.mp4" } };
  assert.equal(order({ model: "seeing", ...withPart(video) }).quote.bound?.promptTokens, 100_000);
  const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
  refused(() => order({ model: "seeing", ...withPart(audio) }), "unsupported_parameter", at);
  refused(() => order(withPart(image)), "unsupported_parameter", at);
  refused(() => order({ model: "seeing-unbounded", ...withPart(image) }), "unpriced_option", "messages");
  refused(() => order({ model: "seeing", ...withPart({ type: "file", file: {} }) }), "unsupported_parameter", at);
  const local = { type: "image_url", image_url: { url: "file:///etc/passwd" } };
  refused(
    () => order({ model: "seeing", ...withPart(local) }),
    "invalid_request",
    "messages[0].content[1].image_url.url",
  );
});

test("a lone surrogate is sent as the escape it came as, and counted as its bytes", () => {
  const body = parseJsonBody(Buffer.from('{"model":"text-1","messages":[{"role":"user","content":"\\ud800"}]}'));
  const { upstreamBody } = parseChatOrder(body, context);
  assert.ok(upstreamBody.includes('"\\ud800"'));
});

test("a tool's schema goes as it came", () => {
  const parameters = { type: "object", properties: { __type: { enum: [1, null] } }, $defs: {} };
  const tools = [{ type: "function", function: { name: "f", parameters, strict: true } }];
  assert.deepEqual(sent({ tools, tool_choice: { type: "function", function: { name: "f" } } }).tools, tools);
});
