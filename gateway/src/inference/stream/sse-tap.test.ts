import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesOf,
  charged,
  content,
  DONE,
  deltaJson,
  event,
  events,
  faultBody,
  noSecrets,
  runTap,
  shownEstimate,
  shownFault,
  shownUsage,
  usageCounts,
  usageEvent,
} from "../../../test/metering/streams.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { createSseTap, MAX_EVENT_BYTES } from "./sse-tap.ts";

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
    costNanoUsd: 1_360_000,
    upstreamId: "chatcmpl-1",
    model: "m",
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
  const tap = createSseTap({ includeUsage: false, charged, errorBody: faultBody, secrets: noSecrets });
  const chunk = bytesOf(answer);
  assert.equal(tap.push(chunk), chunk);
  assert.equal(tap.push(new Uint8Array(0)), undefined);
});

test("an event passes as soon as it is complete; only what is incomplete is held", () => {
  const tap = createSseTap({ includeUsage: false, charged, errorBody: faultBody, secrets: noSecrets });
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
  const small = event(`${deltaJson({}, "stop").slice(0, -1)},"usage":{"prompt_tokens":1,"completion_tokens":1}}`);
  const malformed = event(usageEvent({ ...usageCounts, prompt_tokens: -1 }));
  for (const before of [event(usageEvent()), small]) {
    const { text, result } = run(begun + hello + before + malformed + DONE, { includeUsage: true });
    assert.equal(text, begun + hello + (before === small ? finish : "") + shownEstimate + DONE);
    assert.equal(result.usage, "malformed");
  }
});

test("a usage of null after the real one takes nothing back", () => {
  const last = event(deltaJson({}).replace('"choices"', '"usage":null,"choices"'));
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

test("in place of a malformed usage the estimate is shown that is charged", () => {
  const { text, result } = run(answer + event(usageEvent({ ...usageCounts, completion_tokens: "227" })) + DONE, {
    includeUsage: true,
  });
  assert.equal(text, answer + shownEstimate + DONE);
  assert.equal(result.usage, "malformed");
});

test("a usage far beyond the request's bound is malformed", () => {
  const absurd = usageEvent().replace(/"completion_tokens":\d+/, '"completion_tokens":1000161');
  assert.match(absurd, /1000161/);
  const { result } = run(answer + event(absurd) + DONE, { bound: { promptTokens: 400, completionTokens: 10 } });
  assert.equal(result.usage, "malformed");
});

const withUsage = (json: string, usage: unknown = usageCounts): string =>
  event(`${json.slice(0, -1)},"usage":${JSON.stringify(usage)}}`);
const operators = { ...usageCounts, cost: 0.1, cost_details: { upstream_inference_cost: 0.05 }, is_byok: true };

test("a usage inside a content event counts and is ours when it is shown, once and at the end", () => {
  for (const last of [
    withUsage(deltaJson({}, "stop"), operators),
    withUsage(deltaJson({ content: "!" }, "stop"), operators),
  ]) {
    for (const end of [DONE, ""]) {
      const { text, result } = run(begun + hello + last + end, { includeUsage: true });
      const plain = last.replace(/,"usage":.*\}\n/, "}\n");
      assert.equal(text, begun + hello + plain + shownUsage + end);
      assert.ok(typeof result.usage === "object" && result.usage.completionTokens === 227);
      assert.equal(result.complete, true);
      assert.equal(result.fault, null);
      const unasked = run(begun + hello + last + end);
      assert.equal(unasked.text, begun + hello + plain + end);
    }
  }
});

test("a member that is not for a client is cut out wherever it is, also beside a key of ours", () => {
  const key = "upstream-key-0123456789";
  const secrets = makeSecretFilter([key]);
  const foreign = '"provider" : {"name":["a,b"]}';
  const plain = content("x");
  for (const json of [plain.replace("{", `{${foreign}, `), plain.replace(',"model"', `,${foreign},"model"`)]) {
    assert.deepEqual(
      JSON.parse(
        run(event(json) + DONE)
          .text.split("\n")[0]
          ?.slice(6) ?? "",
      ),
      JSON.parse(plain),
    );
  }
  const both = event(content(key).replace(/\}$/, ` , ${foreign} }`));
  const { text } = run(both + DONE, { secrets });
  assert.deepEqual(JSON.parse(text.split("\n")[0]?.slice(6) ?? ""), JSON.parse(content("[removed]")));
});

test("what a provider adds for its operator passes in no event, whatever member it is in", () => {
  const chunk = JSON.parse(content("x"));
  const extras = [
    { provider: "OpenAI" },
    { cost: 0.5 },
    { x_groq: { usage: operators } },
    { usage: { ...operators, prompt_tokens: "many" } },
    { "pro\u0076ider": "secret" },
  ];
  for (const extra of extras) {
    const { text, result } = run(begun + event(JSON.stringify({ ...chunk, ...extra })) + DONE);
    assert.equal(text, begun + event(content("x")) + DONE);
    assert.equal(result.delivered.bytes, 1);
  }
  const ownUsage = JSON.stringify({ ...chunk, choices: [{ ...chunk.choices[0], usage: operators }] });
  assert.equal(run(event(ownUsage) + DONE).text, event(content("x")) + DONE);
  const known = { system_fingerprint: "fp", service_tier: "default", usage: null };
  const kept = event(JSON.stringify({ ...chunk, ...known }));
  assert.equal(run(kept + DONE).text, kept + DONE);
});

test("a usage is final only if no content comes after it", () => {
  const running = [
    event(usageEvent()),
    withUsage(content("a")),
    withUsage(deltaJson({ role: "assistant", content: "" })),
  ];
  for (const usage of running) {
    const { text, result } = run(usage + event(content("more")), { includeUsage: true });
    assert.equal(result.usage, "missing");
    assert.deepEqual(result.delivered.atLeast, {
      promptTokens: 339,
      completionTokens: 227,
      cacheReadTokens: 128,
      cacheWriteTokens: 0,
      reasoningTokens: 32,
    });
    assert.ok(text.endsWith(shownEstimate + shownFault("cut")), text);
    const later = run(
      usage + event(content("more")) + finish + event(usageEvent({ ...usageCounts, prompt_tokens: 400 })) + DONE,
    );
    assert.ok(typeof later.result.usage === "object" && later.result.usage.promptTokens === 400);
    // An event without content does not invalidate the usage.
    assert.ok(typeof run(usage + finish + begun + DONE).result.usage === "object");
    // Content after the end, which the client does not get, does not either.
    assert.ok(typeof run(usage + DONE + event(content("late"))).result.usage === "object");
  }
});

test("an end without [DONE] and without a finish reason is an error, whatever usage came", () => {
  for (const usage of [event(usageEvent()), withUsage(content("a"))]) {
    const { text, result } = run(begun + hello + usage, { includeUsage: true });
    assert.ok(text.endsWith(shownUsage + shownFault("cut")), text);
    assert.equal(result.complete, false);
    assert.ok(typeof result.usage === "object", "it came last");
  }
  const empty = event(deltaJson({}).replace("null", '""'));
  assert.match(empty, /"finish_reason":""/);
  assert.ok(run(begun + hello + empty + event(usageEvent())).text.endsWith(shownFault("cut")));
});

test("of several choices each has to finish, where there is no [DONE]", () => {
  const choice = (index: number, delta: object, reason: string | null): string =>
    event(deltaJson(delta, reason).replace('"index":0', `"index":${index}`));
  const both = choice(0, { content: "a" }, null) + choice(1, { content: "b" }, null) + choice(1, {}, "stop");
  assert.equal(run(both + event(usageEvent())).result.complete, false);
  for (const usage of [event(usageEvent()), ""]) {
    const { text, result } = run(both + choice(0, {}, "length") + usage);
    assert.equal(result.complete, true);
    assert.ok(!text.includes('"error"'), text);
  }
  const parsed = choice(0, { content: "a", function_call: { name: "f" } }, null);
  assert.equal(run(parsed + choice(1, {}, "stop") + event(usageEvent())).result.complete, false);
  assert.equal(run(both + DONE).result.complete, true);
});

test("the model that answers is known, from whatever event names it first", () => {
  assert.equal(run(hello).result.model, "m");
  assert.equal(run(event(usageEvent())).result.model, "m");
  assert.equal(run(withUsage(content("a"))).result.model, "m");
  assert.equal(run(event('{"choices":[]}') + DONE).result.model, null);
});

test("an error event becomes ours and ends the stream; a usage that still comes is read, and nothing else is", () => {
  const error = event('{"error":{"message":"key sk-1234 is overloaded","code":"model_overloaded"}}');
  const { text, result } = run(begun + hello + error + event(usageEvent()) + DONE);
  assert.equal(text, begun + hello + shownFault("provider_error"));
  assert.ok(typeof result.usage === "object");
  assert.deepEqual([result.delivered.bytes, result.delivered.events], [11, 2]);
  assert.equal(result.done, true);
  assert.deepEqual(result.fault, {
    kind: "provider_error",
    error: { message: "key sk-1234 is overloaded", code: "model_overloaded" },
  });
});

test("a usage that comes after content that the client does not get is beyond the answer, as any after [DONE]", () => {
  const error = event('{"error":"overloaded"}');
  const [first, second] = [usageCounts, { ...usageCounts, prompt_tokens: 400 }].map((usage) =>
    event(usageEvent(usage)),
  );
  for (const [stream, counted] of [
    [begun + hello + error + hello + second, undefined],
    [begun + hello + error + first + hello + second, 339],
    [begun + hello + event("no JSON") + second, undefined],
    [answer + DONE + second, undefined],
    [answer + first + DONE + hello + second + DONE, 339],
  ] as const) {
    const { result } = run(stream);
    assert.equal(typeof result.usage === "object" ? result.usage.promptTokens : undefined, counted, stream);
    assert.equal(result.beyond?.promptTokens, 400, stream);
    assert.equal(result.delivered.bytes, 11);
  }
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
    assert.deepEqual([result.delivered.bytes, result.delivered.events], [0, 0]);
  }
});

test("a stream that is cut ends in an error and no [DONE], with what was delivered counted", () => {
  const lost = 'data: {"id":"chatcmpl-1","choices":[{"delta":{"content":"lost';
  for (const cut of [begun + hello, begun + hello + lost, ""]) {
    const { text, result } = run(cut);
    assert.ok(text.endsWith(shownFault("cut")), cut);
    assert.ok(!text.includes("[DONE]") && !text.includes("lost"));
    assert.equal(result.complete, false);
    assert.deepEqual(result.fault, { kind: "cut" });
  }
});

test("a stream that has its finish reasons is whole, whether [DONE] and a usage come or not", () => {
  for (const [usage, shown] of [
    [event(usageEvent()), shownUsage],
    ["", shownEstimate],
  ]) {
    const { text, result } = run(answer + usage, { includeUsage: true });
    assert.equal(text, answer + shown);
    assert.equal(result.complete, true);
    assert.equal(result.done, false);
    assert.equal(result.fault, null);
  }
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
  assert.deepEqual([result.delivered.bytes, result.delivered.events], [11, 2]);
});

test("comments pass at once, also in the middle of nothing", () => {
  const tap = createSseTap({ includeUsage: false, charged, errorBody: faultBody, secrets: noSecrets });
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
    assert.deepEqual([result.delivered.bytes, result.delivered.events], [11, 2], stream);
    assert.equal(result.upstreamId, "chatcmpl-1");
    assert.equal(result.complete, true);
  }
});

test("data that is no JSON object ends the stream with an error", () => {
  for (const data of [`${content("x")}garbage`, "hello", "[]", "<html>", '{"choices":[']) {
    const { text, result } = run(begun + event(data) + hello);
    assert.equal(text, begun + shownFault("malformed_event"), data);
    assert.deepEqual([result.delivered.bytes, result.delivered.events], [0, 0]);
  }
});

test("an event with empty data is dropped, since clients fail to parse it", () => {
  assert.equal(run(`${begun}data:\n\ndata: \n\n${DONE}`).text, begun + DONE);
});

test("data without choices is no part of an answer and does not pass; fields without data do", () => {
  const unknown = events('{"type":"ping"}', '{"object":"provider.notice","cost":1}');
  assert.equal(run(`${unknown}id: 5\n\nretry: 3\n\n${DONE}`).text, `id: 5\n\nretry: 3\n\n${DONE}`);
  const filters = events('{"choices":[],"prompt_filter_results":[]}');
  assert.equal(run(filters + DONE).text, event('{"choices":[]}') + DONE);
});

const KEY = "sk-4fZq81LmQ0x7Tr5Yw3Nb6Vc1Hj4GpX";
const secrets = makeSecretFilter([KEY]);
const writings = [
  KEY,
  encodeURIComponent(KEY).replaceAll("-", "%2D"),
  [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join(""),
];

test("no event, comment or field passes with a key of ours in it, in any writing", () => {
  for (const key of writings) {
    const chunks = [
      content("x").replace("chatcmpl-1", `a-${key}`),
      content("x").replace('"model"', `"system_fingerprint":"${key}","model"`),
      content("x").replace('"m"', `"${key}"`),
      content("x").replace('"x"', `"x ${key}"`),
      content("x").replace('"role"', `"${key}":null,"role"`),
      deltaJson({ role: "assistant", function_call: { name: "f", arguments: "KEY" } }).replace("KEY", key),
    ];
    const clean = chunks.map((chunk) => chunk.replace(key, "[removed]"));
    const { text, result } = run(events(...chunks) + DONE, { secrets, includeUsage: true });
    assert.ok(text.startsWith(events(...clean)) && text.endsWith(DONE), text);
    assert.ok(!secrets.isIn(text), text);
    assert.ok(result.delivered.bytes >= 4 + KEY.length);

    const others = [
      [`: ${key}\n`, ":\n"],
      [`: ${key}\r\n`, ":\r\n"],
      [`id: ${key}\n\n`, ""],
      [`event: ${key}\nretry: 1\n\n`, ""],
      [`data: {"type":"ping","key":"${key}"}\n\n`, ""],
      [`id: ${key}\n${event(content("x"))}`, null],
    ] as const;
    for (const [said, passed] of others) {
      const { text: shown } = run(begun + said + DONE, { secrets });
      if (passed !== null) assert.equal(shown, begun + passed + DONE);
      assert.ok(!secrets.isIn(shown), shown);
    }
    const usage = usageEvent().replace("chatcmpl-1", key).replace('"m"', `"${key}"`);
    const shown = run(answer + event(usage) + DONE, { secrets, includeUsage: true }).text;
    assert.ok(shown.includes('"cost_nano_usd":1460740') && !secrets.isIn(shown), shown);
  }
});

test("an event above 2 MiB ends the stream with an error, in one chunk or in many; one below passes", () => {
  const large = event(content("x".repeat(MAX_EVENT_BYTES)));
  const parts = [begun, large.slice(0, 1_500_000), large.slice(1_500_000), event(usageEvent()) + DONE].map(bytesOf);
  for (const { text, result } of [run(begun + large + event(usageEvent()) + DONE), runTap(parts)]) {
    assert.equal(text, begun + shownFault("event_too_large"));
    assert.deepEqual([result.usage, typeof result.beyond], ["missing", "object"]);
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
    { audio: { data: "QUJD", transcript: "abc" } },
  ];
  const { result } = run(events(...deltas.map((delta) => deltaJson(delta))) + DONE);
  assert.deepEqual([result.delivered.bytes, result.delivered.events], [4 + 10 + 2 + 3 + 3 + 3 + 4 + 7, 8]);
});

test("a message in place of a delta is delivered, and so is a text; what comes in both is delivered once", () => {
  const choices = [
    { index: 0, message: { role: "assistant", content: "hello" } },
    { index: 0, text: "hello" },
    { index: 0, delta: { content: "hello" }, message: { content: "hello" }, text: "hello" },
    { index: 0, delta: {}, message: { audio: { transcript: "hello" } } },
    { index: 0, delta: null, message: { content: "hello" } },
  ];
  for (const choice of choices) {
    const { text, result } = run(event(JSON.stringify({ id: "1", choices: [choice] })) + DONE);
    assert.deepEqual([result.delivered.bytes, result.delivered.events], [5, 1], JSON.stringify(choice));
    assert.ok(text.includes("hello"));
  }
});
