import assert from "node:assert/strict";
import { test } from "node:test";
import { halfTokens } from "../../pricing/token-estimate.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import type { ElementKind } from "./json-elements.ts";
import { createJsonTap, type JsonTap } from "./json-tap.ts";

const KEY = "upstream-key-0123456789";
const secrets = makeSecretFilter([KEY]);

function makeTap(content = "choices", elements: ElementKind = "choices"): JsonTap {
  const shown = ["id", "object", "created", "model", content, "usage", "system_fingerprint", "timing"];
  return createJsonTap({ shown, content, elements, secrets });
}

function read(text: string, tap = makeTap()): { tap: JsonTap; text: string } {
  const passed = Buffer.from(tap.push(Buffer.from(text)) ?? []).toString();
  return { tap, text: tap.state() === "done" ? passed + Buffer.from(tap.last(1_500_000_000)).toString() : passed };
}

test("members pass that a client may see, and the content byte for byte", () => {
  const list = '[ {"message": {"content":"gr\\u00fcn"}} ,{"x":1.50} ]';
  const { tap, text } = read(`{"id":"a","secret":[1],"choices":${list}, "model": "m" }`);
  assert.equal(text, `{"id":"a","choices":${list},"model":"m"}`);
  assert.deepEqual(
    [tap.upstreamId(), tap.model(), tap.delivered()],
    ["a", "m", { bytes: 5, events: 1, halfTokens: 8 }],
  );
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
  const { tap, text } = read('{"us\\u0061ge":{"prompt_tokens":3,"completion_tokens":0},"\\u0069d":"a","choices":[]}');
  assert.equal(typeof tap.reported().usage, "object");
  assert.ok(text.startsWith('{"id":"a"'));
});

test("keys of ours are taken out of every member and of the content", () => {
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
  const { tap, text } = read(`{"id":"a","id":"b",${usage(1)},${usage(2)},"choices":[]}`);
  assert.equal(JSON.parse(text).id, "a");
  assert.equal((tap.reported().usage as { promptTokens: number }).promptTokens, 2);
});

for (const text of [
  "",
  "[]",
  "null",
  "7",
  '"text"',
  "<html>",
  '{"id"}',
  '{"id":}',
  '{"id":nil}',
  '{"id":"a",}',
  '{"choices":[,]}',
  '{"choices":[1,]}',
  '{"choices":[1 2]}',
  '{"choices":[{"a":]]}',
  '{"choices":[],"choices":[]}',
  '{"choices":[{]}',
  '{id:"a"}',
  '{"usage":{"prompt_tokens":1}x}',
  '{"choices":[}',
]) {
  test(`${text} is no answer`, () => {
    const { tap } = read(text);
    assert.notEqual(tap.state(), "done");
    assert.equal(tap.fault(), text === "" ? null : "malformed");
  });
}

test("an error in the answer fails it, and its usage is read all the same", () => {
  const { tap } = read('{"error":{"message":"x"},"usage":{"prompt_tokens":3,"completion_tokens":0},"choices":[]}');
  assert.deepEqual([tap.state(), tap.fault()], ["failed", "error"]);
  assert.equal(typeof tap.reported().usage, "object");
  assert.equal(read('{"error":null,"choices":[]}').tap.state(), "done");
});

test("what follows the closing brace is nobody's", () => {
  assert.equal(read('{"id":"a"} trailing').text, '{"id":"a"}');
});

test("nesting of any depth passes in the content, and is dropped elsewhere", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const { tap, text } = read(`{"id":${deep},"created":${deep},"choices":[${deep}]}`);
  assert.equal(tap.state(), "done");
  assert.equal(text, `{"choices":[${deep}]}`);
});

test("a member that is too large to be held is dropped", () => {
  const { text } = read(`{"id":"${"x".repeat(70_000)}","${"k".repeat(1_000)}":1,"object":"o","choices":[]}`);
  assert.equal(text, '{"object":"o","choices":[]}');
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
    const { tap } = read(`{"images":[${image}]}`, makeTap("images", "images"));
    assert.deepEqual(tap.delivered(), { bytes: 0, events: count, halfTokens: 0 });
  });
}

test("embeddings are counted without being read", () => {
  const { tap } = read('{"data":[null,{},"",{"embedding":[0.1,0.2]}]}', makeTap("data", "embeddings"));
  assert.deepEqual(tap.delivered(), { bytes: 0, events: 1, halfTokens: 0 });
});

test("the content of choices is estimated as that of a stream; of one that is not read each byte is a token", () => {
  const choice = (content: string): string => JSON.stringify({ message: { content } });
  const text = "The quick brown fox jumps over the lazy dog. ";
  const { tap } = read(`{"choices":[${choice(text)},${choice(text)}]}`);
  assert.equal(tap.delivered().halfTokens, 2 * halfTokens(text));
  const large = choice(text.repeat(1_000));
  assert.equal(read(`{"choices":[${large}]}`).tap.delivered().halfTokens, 2 * large.length);
});

test("what has come of an element counts before it has ended", () => {
  const { tap } = read('{"choices":[{"message":{"content":"hal');
  assert.ok(tap.delivered().bytes > 0);
  assert.equal(tap.state(), "open");
});
