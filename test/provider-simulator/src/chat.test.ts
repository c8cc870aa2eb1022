import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, chunks, eventData, json, post, said, start } from "./client.ts";
import { PARAMETERS_FIELD, SYSTEM_PROMPT_FIELD } from "./wire.ts";

interface Answer {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: {
      readonly content: string | null;
      readonly reasoning_content: string | null;
      readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[];
    };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const TOOLS = [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }];

/** Without the provider's own prompt. */
const plain = { [PARAMETERS_FIELD]: { [SYSTEM_PROMPT_FIELD]: false } };

test("the same request gives the same bytes after a reset, and another id before one", async () => {
  await using provider = await start();
  for (const stream of [false, true]) {
    provider.simulator.reset();
    const first = await chat(provider, "sim-small", "tell me [[tokens=40]]", { stream });
    const second = await chat(provider, "sim-small", "tell me [[tokens=40]]", { stream });
    provider.simulator.reset();
    const again = await chat(provider, "sim-small", "tell me [[tokens=40]]", { stream });
    assert.equal(again.text, first.text);
    assert.notEqual(second.text, first.text);
    const ids = /chatcmpl-[0-9a-f]+/g;
    assert.equal(second.text.replace(ids, ""), first.text.replace(ids, ""));
  }
});

test("a stream and a buffered answer say the same and use the same", async () => {
  await using provider = await start();
  const buffered = json<Answer>(await chat(provider, "sim-reasoning", "why? [[tokens=70]] [[reasoning=9]]"));
  const stream = await chat(provider, "sim-reasoning", "why? [[tokens=70]] [[reasoning=9]]", { stream: true });
  const all = chunks(stream);
  assert.equal(said(stream), buffered.choices[0]?.message.content);
  const thought = all.map((chunk) => chunk.choices?.[0]?.delta.reasoning_content ?? "").join("");
  assert.equal(thought, buffered.choices[0]?.message.reasoning_content);
  assert.deepEqual(all.at(-1)?.usage, buffered.usage);
  assert.equal(buffered.usage.completion_tokens, 70);
});

test("a stream has one chunk a token, a finish, a usage chunk without choices, and [DONE]", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-small", "[[tokens=5]]", { stream: true });
  assert.equal(heard.headers["content-type"], "text/event-stream; charset=utf-8");
  const all = chunks(heard);
  assert.equal(all.length, 1 + 5 + 1 + 1);
  assert.equal(all.filter((chunk) => (chunk.choices?.[0]?.delta.content ?? "") !== "").length, 5);
  assert.equal(all.at(-2)?.choices?.[0]?.finish_reason, "stop");
  assert.deepEqual(all.at(-1)?.choices, []);
  assert.deepEqual(all.at(-1)?.usage, { prompt_tokens: 107, completion_tokens: 5, total_tokens: 112 });
  assert.deepEqual(all.at(-1)?.cost, { usd: 0.00001905, diem: 0 });
  assert.ok(all.slice(0, -1).every((chunk) => chunk.usage === undefined));
  assert.equal(eventData(heard).at(-1), "[DONE]");
});

test("prompt tokens follow the rule of the README and stay below the bytes of the messages", async () => {
  await using provider = await start();
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "\u65e5\u672c\u8a9e" }] },
  ];
  const answer = json<Answer>(await post(provider, "/chat/completions", { model: "sim-small", messages, ...plain }));
  assert.equal(answer.usage.prompt_tokens, 4 + 3 + 4 + 3);
  assert.ok(answer.usage.prompt_tokens <= Buffer.byteLength(JSON.stringify(messages)));
});

test("the provider's own prompt is billed unless it is switched off", async () => {
  await using provider = await start();
  const prompt = async (more: Record<string, unknown>): Promise<number> =>
    json<Answer>(await chat(provider, "sim-small", "hi", more)).usage.prompt_tokens;
  assert.equal(await prompt({}), 105);
  assert.equal(await prompt(plain), 5);
});

test("the answer has as many tokens as asked for, at most max_completion_tokens, which wins over max_tokens", async () => {
  await using provider = await start();
  const finish = async (more: Record<string, unknown>): Promise<unknown> => {
    const { usage, choices } = json<Answer>(await chat(provider, "sim-small", "[[tokens=30]]", more));
    return [usage.completion_tokens, choices[0]?.finish_reason];
  };
  assert.deepEqual(await finish({}), [30, "stop"]);
  assert.deepEqual(await finish({ max_tokens: 30 }), [30, "stop"]);
  assert.deepEqual(await finish({ max_tokens: 7 }), [7, "length"]);
  assert.deepEqual(await finish({ max_tokens: 7, max_completion_tokens: 9 }), [9, "length"]);
  assert.deepEqual(await finish({ max_tokens: 0 }), [30, "stop"]);
  assert.deepEqual(await finish({ max_tokens: -1 }), [30, "stop"]);
  assert.equal((await chat(provider, "sim-small", "x", { max_tokens: 16_385 })).status, 400);
});

test("n choices are different texts, and all count", async () => {
  await using provider = await start();
  const answer = json<Answer>(await chat(provider, "sim-small", "[[tokens=6]]", { n: 3 }));
  assert.equal(new Set(answer.choices.map((choice) => choice.message.content)).size, 3);
  assert.equal(answer.usage.completion_tokens, 18);
  const stream = chunks(await chat(provider, "sim-small", "[[tokens=6]]", { n: 3, stream: true }));
  assert.deepEqual(
    [...new Set(stream.flatMap((chunk) => chunk.choices?.map((choice) => choice.index) ?? []))],
    [0, 1, 2],
  );
  assert.equal(stream.at(-1)?.usage?.completion_tokens, 18);
});

test("a tool is called when tools are given and the text asks, and its arguments are JSON in both forms", async () => {
  await using provider = await start();
  const content = "[[finish=tool_calls]] [[tokens=64]]";
  const buffered = json<Answer>(await chat(provider, "sim-small", content, { tools: TOOLS }));
  const call = buffered.choices[0]?.message.tool_calls?.[0]?.function;
  assert.equal(call?.name, "look_up");
  assert.equal(buffered.choices[0]?.finish_reason, "tool_calls");
  const stream = chunks(await chat(provider, "sim-small", content, { tools: TOOLS, stream: true }));
  const streamed = stream
    .flatMap((chunk) => chunk.choices?.[0]?.delta.tool_calls ?? [])
    .map((part) => part.function.arguments);
  assert.equal(streamed.join(""), call?.arguments);
  assert.equal(typeof JSON.parse(streamed.join("")).text, "string");
  const finishOf = async (text: string): Promise<string | undefined> =>
    json<Answer>(await chat(provider, "sim-small", text)).choices[0]?.finish_reason;
  assert.equal(await finishOf(content), "stop");
  assert.equal(await finishOf("[[finish=content_filter]]"), "content_filter");
});

test("an unknown field is refused by name", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-small", "hi", { thinking: true, foo: 1 });
  assert.equal(heard.status, 400);
  const body = json<{ error: string; details: { _errors: string[] }; issues: { code: string }[] }>(heard);
  assert.equal(body.error, "Invalid request parameters");
  assert.deepEqual(body.details._errors, ["Unrecognized key(s) in object: 'thinking', 'foo'"]);
  assert.equal(body.issues[0]?.code, "unrecognized_keys");
});

test("a wrong value is refused, naming its field", async () => {
  await using provider = await start();
  const wrong: Record<string, unknown> = {
    temperature: 3,
    n: 0,
    stream: "yes",
    max_tokens: 1.5,
    max_completion_tokens: "100",
    tools: {},
    stop: 3,
    user: 7,
    messages: [],
  };
  for (const [field, value] of Object.entries(wrong)) {
    const heard = await chat(provider, "sim-small", "hi", { [field]: value });
    assert.equal(heard.status, 400, field);
    const { details } = json<{ details: Record<string, unknown> }>(heard);
    assert.ok(Object.hasOwn(details, field), `${field}: ${heard.text}`);
  }
  for (const messages of [[{ role: "robot", content: "x" }], [{ role: "user", content: 1 }], ["x"]]) {
    assert.equal((await post(provider, "/chat/completions", { model: "sim-small", messages })).status, 400);
  }
});

test("a prompt past the context is refused in OpenAI's shape", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-tiny-context", "x".repeat(2100));
  assert.equal(heard.status, 400);
  const { error } = json<{ error: { code: string; type: string; param: string } }>(heard);
  assert.deepEqual(
    [error.code, error.type, error.param],
    ["context_length_exceeded", "invalid_request_error", "messages"],
  );
});
