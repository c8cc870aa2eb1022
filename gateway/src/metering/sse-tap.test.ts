import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_EVENT_BYTES } from "./sse-relay.ts";
import { createSseTap } from "./sse-tap.ts";
import {
  bytesOf,
  content,
  DONE,
  deltaJson,
  event,
  events,
  faultBody,
  runTap,
  shownFault,
  shownUsage,
  usageCounts,
  usageEvent,
} from "./testing/streams.ts";

const run = (text: string, options: Parameters<typeof runTap>[1] = {}) => runTap([bytesOf(text)], options);
const begun = event(deltaJson({ role: "assistant", content: "" }));
const hello = events(content("Hél"), content("lo 👋"));
const finish = event(deltaJson({}, "stop"));
const answer = begun + hello + finish;

test("content passes byte for byte, usage is swallowed and counted, and so is what was delivered", () => {
  const { text, result } = run(answer + event(usageEvent()) + DONE);
  assert.equal(text, answer + DONE);
  assert.deepEqual(result, {
    delivered: { bytes: 4 + 7, events: 2 },
    usage: { promptTokens: 339, completionTokens: 227, cacheReadTokens: 128, cacheWriteTokens: 0, reasoningTokens: 32 },
    malformedUsage: false,
    upstreamId: "chatcmpl-1",
    finishReason: "stop",
    done: true,
    complete: true,
    fault: null,
  });
});

test("a client that asked for usage sees it once, written anew with its exact cost", () => {
  const { text } = run(answer + event(usageEvent()) + DONE, { includeUsage: true });
  assert.equal(text, answer + shownUsage + DONE);
});

test("a chunk of whole content events is passed on as the same bytes, not a copy", () => {
  const tap = createSseTap({ includeUsage: false, costNanoUsd: () => 0, errorBody: faultBody });
  const chunk = bytesOf(answer);
  assert.equal(tap.push(chunk), chunk);
  assert.equal(tap.push(new Uint8Array(0)), undefined);
});

test("an event passes as soon as it is complete; only what is incomplete is held", () => {
  const tap = createSseTap({ includeUsage: false, costNanoUsd: () => 0, errorBody: faultBody });
  const first = bytesOf(begun);
  const second = bytesOf(event(content("x")));
  assert.deepEqual(tap.push(bytesOf(begun + event(content("x")).slice(0, -1))), first);
  assert.deepEqual(tap.push(bytesOf("\n")), second);
});

test("of several usages the last counts and is shown once; a malformed one before it is known of", () => {
  const smaller = usageEvent({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
  const malformed = usageEvent({ ...usageCounts, prompt_tokens: -1 });
  for (const before of [[smaller], [malformed], [smaller, malformed]]) {
    const { text, result } = run(answer + events(...before, usageEvent()) + DONE, { includeUsage: true });
    assert.equal(text, answer + shownUsage + DONE);
    assert.ok(typeof result.usage === "object" && result.usage.promptTokens === 339);
    assert.equal(result.malformedUsage, before.includes(malformed));
  }
});

test("a malformed usage after one that can be read is not the smaller one's: it makes the usage malformed", () => {
  const inContent = event(`${deltaJson({}, "stop").slice(0, -1)},"usage":{"prompt_tokens":1,"completion_tokens":1}}`);
  const malformed = event(usageEvent({ ...usageCounts, prompt_tokens: -1 }));
  for (const before of [event(usageEvent()), inContent]) {
    const { text, result } = run(begun + hello + before + malformed + DONE, { includeUsage: true });
    assert.equal(text, begun + hello + (before === inContent ? before : "") + DONE);
    assert.equal(result.usage, "malformed");
  }
});

test("a usage of null after the real one takes nothing back", () => {
  const last = event(content("x").replace('"choices"', '"usage":null,"choices"'));
  const { result } = run(answer + event(usageEvent()) + last + DONE);
  assert.ok(typeof result.usage === "object" && result.usage.promptTokens === 339);
});

test("a usage of null is no usage, in every chunk", () => {
  const withNull = event(content("x").replace('"choices"', '"usage":null,"choices"'));
  const { text, result } = run(withNull + DONE);
  assert.equal(text, withNull + DONE);
  assert.equal(result.usage, "missing");
  assert.equal(result.malformedUsage, false);
});

test("a malformed usage is not shown and not priced", () => {
  const { text, result } = run(answer + event(usageEvent({ ...usageCounts, completion_tokens: "227" })) + DONE, {
    includeUsage: true,
  });
  assert.equal(text, answer + DONE);
  assert.equal(result.usage, "malformed");
});

test("a usage far beyond the request's bound is malformed", () => {
  const absurd = usageEvent().replace(/"completion_tokens":\d+/, '"completion_tokens":1000161');
  assert.match(absurd, /1000161/);
  const { result } = run(answer + event(absurd) + DONE, { bound: { promptTokens: 400, completionTokens: 10 } });
  assert.equal(result.usage, "malformed");
});

test("a usage inside a content event counts, and passes with it", () => {
  const last = event(`${deltaJson({}, "stop").slice(0, -1)},"usage":${JSON.stringify(usageCounts)}}`);
  const { text, result } = run(begun + hello + last, { includeUsage: true });
  assert.equal(text, begun + hello + last);
  assert.ok(typeof result.usage === "object" && result.usage.completionTokens === 227);
  assert.equal(result.complete, true);
  assert.equal(result.fault, null);
});

test("an error event becomes ours and ends the stream; a usage that still comes is read, and nothing else is", () => {
  const error = event('{"error":{"message":"key sk-1234 is overloaded","code":"model_overloaded"}}');
  const { text, result } = run(begun + hello + error + hello + event(usageEvent()) + DONE);
  assert.equal(text, begun + hello + shownFault("provider_error"));
  assert.ok(typeof result.usage === "object");
  assert.deepEqual(result.delivered, { bytes: 11, events: 2 });
  assert.equal(result.done, true);
  assert.deepEqual(result.fault, {
    kind: "provider_error",
    error: { message: "key sk-1234 is overloaded", code: "model_overloaded" },
  });
});

test("an answer that is an error first is known by the id that comes with its usage", () => {
  const { result } = run(event('{"error":"overloaded"}') + event(usageEvent()));
  assert.equal(result.upstreamId, "chatcmpl-1");
});

test("an error without content has delivered nothing, in whatever form it comes", () => {
  const forms = [
    event('{"error":"overloaded"}'),
    event('{"object":"error","message":"m"}'),
    event('{"choices":[{"index":0,"delta":{"content":"x"}}],"error":{"message":"m"}}'),
    "event: error\ndata: overloaded\n\n",
    'event: error\ndata: {"message":"m"}\n\n',
  ];
  for (const form of forms) {
    const { text, result } = run(begun + form + DONE);
    assert.equal(text, begun + shownFault("provider_error"), form);
    assert.deepEqual(result.delivered, { bytes: 0, events: 0 });
  }
});

test("a stream that is cut ends in an error and no [DONE], with what was delivered counted", () => {
  for (const cut of [
    answer,
    `${answer}data: {"id":"chatcmpl-1","choices":[{"delta":{"content":"lost`,
    begun + hello,
    "",
  ]) {
    const { text, result } = run(cut);
    assert.ok(text.endsWith(shownFault("cut")), cut);
    assert.ok(!text.includes("[DONE]") && !text.includes("lost"));
    assert.equal(result.complete, false);
    assert.deepEqual(result.fault, { kind: "cut" });
  }
});

test("a stream that has its usage is whole, whether [DONE] comes or not", () => {
  const { text, result } = run(answer + event(usageEvent()), { includeUsage: true });
  assert.equal(text, answer + shownUsage);
  assert.equal(result.complete, true);
  assert.equal(result.done, false);
  assert.equal(result.fault, null);
});

test("a last event without its blank line counts", () => {
  for (const end of ["", "\n"]) {
    const { text, result } = run(`${answer}data: [DONE]${end}`);
    assert.equal(text, `${answer}data: [DONE]${end}\n\n`);
    assert.equal(result.complete, true);
  }
});

test("after [DONE] nothing passes", () => {
  const { text, result } = run(answer + DONE + DONE + hello + event('{"error":"late"}'));
  assert.equal(text, answer + DONE);
  assert.equal(result.fault, null);
  assert.deepEqual(result.delivered, { bytes: 11, events: 2 });
});

test("comments pass at once, also in the middle of nothing", () => {
  const tap = createSseTap({ includeUsage: false, costNanoUsd: () => 0, errorBody: faultBody });
  for (const comment of [": keep-alive\n", ": PROCESSING\n\n", ":\r\n"]) {
    assert.deepEqual(tap.push(bytesOf(comment)), bytesOf(comment));
  }
});

test("line ends, spaces, fields and byte order marks are read by the rules of event streams", () => {
  const lines = [
    answer.replaceAll("\n", "\r\n"),
    answer.replaceAll("\n", "\r"),
    answer.replaceAll("data: ", "data:"),
    `\uFEFF${answer}`,
    answer.replaceAll("data: ", "event: message\nid: 1\nretry: 5\ndata: "),
    answer.replaceAll("data: ", ": comment\ndata: "),
    answer.replaceAll(',"choices"', ',\ndata: "choices"'),
    answer.replaceAll("data: {", "data:  { "),
  ];
  for (const stream of lines) {
    const { text, result } = run(stream + DONE);
    assert.equal(text, stream + DONE);
    assert.deepEqual(result.delivered, { bytes: 11, events: 2 }, stream);
    assert.equal(result.upstreamId, "chatcmpl-1");
    assert.equal(result.finishReason, "stop");
  }
});

test("data that is no JSON object ends the stream with an error", () => {
  for (const data of [`${content("x")}garbage`, "hello", "[]", "<html>", '{"choices":[']) {
    const { text, result } = run(begun + event(data) + hello);
    assert.equal(text, begun + shownFault("malformed_event"), data);
    assert.deepEqual(result.delivered, { bytes: 0, events: 0 });
  }
});

test("an event with empty data is dropped, since clients fail to parse it", () => {
  assert.equal(run(`${begun}data:\n\ndata: \n\n${DONE}`).text, begun + DONE);
});

test("an event of a kind nobody knows passes", () => {
  const unknown = `${events('{"type":"ping"}', '{"choices":[],"prompt_filter_results":[]}')}id: 5\n\n`;
  assert.equal(run(unknown + DONE).text, unknown + DONE);
});

test("an event above 2 MiB ends the stream with an error, in one chunk or in many; one below passes", () => {
  const large = event(content("x".repeat(MAX_EVENT_BYTES)));
  const parts = [begun, large.slice(0, 1_500_000), large.slice(1_500_000), event(usageEvent()) + DONE].map(bytesOf);
  for (const { text, result } of [run(begun + large + event(usageEvent()) + DONE), runTap(parts)]) {
    assert.equal(text, begun + shownFault("event_too_large"));
    assert.ok(typeof result.usage === "object");
  }
  const below = event(content("x".repeat(MAX_EVENT_BYTES - 1000)));
  assert.equal(run(below + DONE).text, below + DONE);
});

test("tool calls, refusals and reasoning are delivered; a text under two names is delivered once", () => {
  const deltas = [
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "find", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"q":"é"}' } }] },
    { refusal: "no" },
    { reasoning_content: "hmm", reasoning: "hmm" },
    { reasoning: "hmm", reasoning_details: [{ type: "reasoning.text", text: "hmm" }] },
    { function_call: { name: "f", arguments: "{}" } },
    { content: [{ type: "text", text: "part" }] },
  ];
  const { result } = run(events(...deltas.map((delta) => deltaJson(delta))) + DONE);
  assert.deepEqual(result.delivered, { bytes: 4 + 10 + 2 + 3 + 3 + 3 + 4, events: 7 });
});
