import assert from "node:assert/strict";
import { test } from "node:test";
import { chargedOf, withoutEstimate } from "../../../test/metering/charged.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import type { ElementKind } from "./json-elements.ts";
import { createJsonRelay, type JsonRelay } from "./json-relay.ts";

const KEY = "upstream-key-0123456789";
const secrets = makeSecretFilter([KEY]);

function makeRelay(content = "choices", elements: ElementKind = "choices"): JsonRelay {
  const shown = ["id", "object", "created", "model", content, "usage", "system_fingerprint", "timing"];
  return createJsonRelay({ shown, content, elements, secrets });
}

function read(text: string, relay = makeRelay()): { relay: JsonRelay; text: string } {
  const passed = Buffer.from(relay.push(Buffer.from(text)) ?? []).toString();
  if (relay.state() !== "done") return { relay, text: passed };
  const last = Buffer.from(relay.last(chargedOf(relay, 1_500_000_000))).toString();
  return { relay, text: withoutEstimate(passed + last) };
}

test("members pass byte for byte that a client may see", () => {
  const list = '[ {"message": {"content":"gr\\u00fcn"}} ,{"x":1.50} ]';
  const { relay, text } = read(`{"id":"a","secret":[1],"choices":${list}, "model": "m" }`);
  assert.equal(text, `{"id":"a","choices":${list},"model": "m" }`);
  assert.deepEqual([relay.upstreamId(), relay.model(), relay.delivered()], ["a", "m", { bytes: 5, events: 1 }]);
});

test("the usage comes last and is ours, wherever it was", () => {
  const { text } = read('{"usage":{"prompt_tokens":3,"completion_tokens":4,"cost":7,"is_byok":true},"choices":[]}');
  const [before, usage] = text.split(',"usage":');
  assert.equal(before, '{"choices":[]');
  assert.deepEqual(JSON.parse(`${usage?.slice(0, -1)}`), {
    prompt_tokens: 3,
    completion_tokens: 4,
    total_tokens: 7,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    cost: 1.5,
    cost_nano_usd: 1_500_000_000,
  });
});

test("names are read whatever their writing", () => {
  const { relay, text } = read('{"us\\u0061ge":{"prompt_tokens":3,"completion_tokens":0},"\\u0069d":"a","choices":[]}');
  assert.equal(typeof relay.reported().usage, "object");
  assert.ok(text.startsWith('{"id":"a"'));
});

test("keys of ours are taken out of every member", () => {
  const { text } = read(
    `{"id":"x${KEY}","created":5,"timing":{"a":["\\u0075${KEY.slice(1)}"]},"system_fingerprint":"${KEY}","choices":["${KEY}"]}`,
  );
  assert.deepEqual(JSON.parse(text), {
    id: "x[removed]",
    created: 5,
    timing: { a: ["[removed]"] },
    system_fingerprint: "[removed]",
    choices: ["[removed]"],
  });
});

test("of a member that comes twice the first is shown, and the last usage counts", () => {
  const usage = (tokens: number) => `"usage":{"prompt_tokens":${tokens},"completion_tokens":0}`;
  const { relay, text } = read(`{"id":"a","id":"b",${usage(1)},${usage(2)},"choices":[],"choices":[1]}`);
  assert.deepEqual([JSON.parse(text).id, JSON.parse(text).choices, relay.elements()], ["a", [], 0]);
  assert.equal((relay.reported().usage as { promptTokens: number }).promptTokens, 2);
});

for (const text of ["[]", "null", "7", '"text"', "<html>", '{"id"}', '{id:"a"}', "\0", '{\0"id":"a"}', "{{}:1}"]) {
  test(`${JSON.stringify(text)} is no answer`, () => {
    assert.deepEqual([read(text).relay.state(), read(text).relay.fault()], ["failed", "malformed"]);
  });
}

for (const text of ["", " \n", "\ufeff", '{"choices":[', '{"choices":["a]}"', '{"id":"a"']) {
  test(`${JSON.stringify(text)} has not ended`, () => {
    assert.deepEqual([read(text).relay.state(), read(text).relay.fault()], ["open", null]);
  });
}

test("an error in the answer fails it, and its usage is read all the same", () => {
  const { relay, text } = read(
    '{"error":{"message":"x"},"usage":{"prompt_tokens":3,"completion_tokens":0},"choices":[1]}',
  );
  assert.deepEqual([relay.state(), relay.fault(), text], ["failed", "error", ""]);
  assert.equal(typeof relay.reported().usage, "object");
  assert.equal(read('{"error":null,"choices":[]}').relay.state(), "done");
});

test("choices of which one failed and none has content are an error", () => {
  assert.equal(read('{"choices":[{"error":"x"},{"message":{"content":""}}]').relay.fault(), "error");
  assert.equal(read('{"choices":[{"error":"x"},{"message":{"content":"y"}}]').relay.fault(), null);
});

test("what follows the closing brace does not pass", () => {
  assert.equal(read('{"id":"a"} trailing').text, '{"id":"a"}');
});

test("nesting of any depth passes", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const text = `{"id":${deep},"choices":[${deep}]}`;
  assert.equal(read(text).text, text);
});

test("a name that is too large is dropped, and so is its member", () => {
  const { text } = read(`{"${"k".repeat(70_000)}":1,"object":"o","choices":[]}`);
  assert.equal(text, '{"object":"o","choices":[]}');
});

test("a usage that is too large is malformed", () => {
  const usage = JSON.stringify({ prompt_tokens: 1, completion_tokens: 1, more: "x".repeat(70_000) });
  assert.deepEqual(read(`{"choices":[],"usage":${usage}}`).relay.reported(), {
    usage: "malformed",
    malformedUsage: true,
  });
});

for (const [image, count] of [
  ["null", 0],
  ['""', 0],
  ["{}", 0],
  ["7", 0],
  ["[]", 0],
  ['{"b64_json":null}', 0],
  ['{"b64_json":""}', 0],
  ['{"error":{"message":"x"}}', 0],
  ['{"url":"https://x","error":"y"}', 0],
  ['"aGk="', 1],
  ['{"url":"https://x"}', 1],
  ['{"b64_json":"aGk=","error":null}', 1],
  [`"${"A".repeat(200_000)}"`, 1],
] as const) {
  test(`${image.slice(0, 40)} is ${count === 1 ? "an image" : "no image"}`, () => {
    const { relay } = read(`{"images":[${image}]}`, makeRelay("images", "images"));
    assert.deepEqual(relay.delivered(), { bytes: 0, events: count });
  });
}

test("embeddings are counted", () => {
  const list = `null,{},"",{"embedding":[0.1,0.2]},{"embedding":[${"0.1,".repeat(3_000)}1]}`;
  const { relay } = read(`{"data":[${list}]}`, makeRelay("data", "embeddings"));
  assert.deepEqual([relay.delivered(), relay.elements()], [{ bytes: 0, events: 2 }, 5]);
});

test("what has come of an element counts before it has ended", () => {
  const { relay } = read('{"choices":[{"message":{"content":"hal');
  assert.ok(relay.delivered().bytes > 0);
  assert.equal(relay.state(), "open");
});
