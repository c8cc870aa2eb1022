import assert from "node:assert/strict";
import { test } from "node:test";
import { complete } from "../../limits/sliced-work.ts";
import { makeTexts } from "./made-texts.ts";
import { readLargeJson } from "./read-large-json.ts";
import { bytesOf, writeBody } from "./write-json.ts";

const long = [
  'She said "no",\n\ttwice. '.repeat(40),
  "C:\\temp\\ and \\u0041 ".repeat(40),
  "é👋 ".repeat(200),
  '{"input":"\\"x\\""}'.repeat(30),
];

/** What is made of a body's texts, and written: of a body that was read in pieces, and of the same parsed whole. */
function made(body: unknown, make: (body: never, texts: ReturnType<typeof makeTexts>) => Generator<void, object>) {
  const text = JSON.stringify(body);
  const pieces = complete(readLargeJson([Buffer.from(text)]));
  const large = makeTexts(pieces.texts);
  const written = complete(writeBody(complete(make(pieces.value as never, large)), large.all));
  assert.ok(Array.isArray(written.upstreamBody));
  assert.equal(bytesOf(written.upstreamBody), Buffer.concat(written.upstreamBody as Uint8Array[]).length);
  const whole = makeTexts(null);
  return {
    large: JSON.parse(Buffer.concat(written.upstreamBody as Uint8Array[]).toString()),
    small: JSON.parse(JSON.stringify(complete(make(JSON.parse(text) as never, whole)))),
  };
}

test("what is made of long texts is what would be made of them if they were decoded", () => {
  const { large, small } = made({ texts: [...long, "short"] }, function* ({ texts }: { texts: string[] }, to) {
    const quoted: string[] = [];
    for (const text of texts) quoted.push(yield* to.quote(JSON.stringify({ input: text, more: [text, "x"] })));
    const twice = yield* to.quote(JSON.stringify({ again: quoted[0] }));
    return { quoted, twice, joined: to.join(["Error: ", ...texts]), one: to.join([texts[0] as string]) };
  });
  assert.deepEqual(large, small);
  assert.deepEqual(JSON.parse(large.quoted[1]), { input: long[1], more: [long[1], "x"] });
  assert.equal(JSON.parse(JSON.parse(large.twice).again).input, long[0]);
  assert.equal(large.joined, `Error: ${long.join("")}short`);
});

test("a text that is kept is written as it is, and a long one can be read", () => {
  const { large, small } = made({ texts: long }, function* ({ texts }: { texts: string[] }, to) {
    yield;
    return { kept: long.map(to.keep), read: texts.map((text) => to.read(text, 10_000)) };
  });
  assert.deepEqual(large, { kept: long, read: long });
  assert.deepEqual(small, large);
});

test("a text that is longer than asked for is not decoded", () => {
  const { value, texts } = complete(readLargeJson([Buffer.from(JSON.stringify({ text: "x".repeat(1_000) }))]));
  const to = makeTexts(texts);
  assert.equal(to.read(value.text as string, 999), null);
  assert.equal(to.read(value.text as string, 1_000), "x".repeat(1_000));
});

test("no text that is joined of short ones stands in for another", () => {
  const longText = "y".repeat(100_000);
  const [standIn = ""] = complete(readLargeJson([Buffer.from(JSON.stringify({ text: longText }))])).texts.keys();
  const parts = [standIn.slice(0, 200), standIn.slice(200)];
  const { large, small } = made({ text: longText, parts }, function* ({ text, parts }: never, to) {
    yield;
    return { text, joined: to.join(parts) };
  });
  assert.equal(large.joined, standIn);
  assert.deepEqual(large, small);
});
