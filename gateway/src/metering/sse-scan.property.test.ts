import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSseEvent } from "./sse-event.ts";
import { type ContentNotes, scanContent } from "./sse-scan.ts";
import { bytesOf } from "./testing/streams.ts";

const text = fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.string({ unit: "grapheme", maxLength: 8 }));
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value);
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(value, { freq: 1, nil: null }).chain((some) => fc.constantFrom(null, null, null, some));
const toolCall = fc.record(
  {
    index: fc.nat(3),
    id: text,
    type: text,
    function: fc.record({ name: maybe(text), arguments: text }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const delta = fc.record(
  {
    role: text,
    content: maybe(text),
    refusal: maybe(text),
    reasoning_content: maybe(text),
    reasoning: maybe(text),
    tool_calls: fc.array(toolCall, { maxLength: 2 }),
    other: rarely(fc.jsonValue({ maxDepth: 2 })),
  },
  { requiredKeys: [] },
);
const choice = fc.record(
  {
    index: fc.nat(3),
    delta: maybe(delta),
    finish_reason: maybe(fc.constantFrom("stop", "length")),
    logprobs: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const chunk = fc.record(
  {
    id: fc.constantFrom("chatcmpl-1", "chatcmpl-2"),
    object: fc.constantFrom(...Array<string>(9).fill("chat.completion.chunk"), "error"),
    created: fc.double(),
    error: rarely(fc.jsonValue({ maxDepth: 1 })),
    usage: rarely(fc.constantFrom({}, { prompt_tokens: 1 })),
    choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
    other: fc.jsonValue({ maxDepth: 3 }),
  },
  { requiredKeys: ["choices"] },
);

/** JSON as different writers print it. */
const anyJson = fc.tuple(chunk, fc.boolean(), fc.boolean()).map(([value, spaced, ascii]) => {
  const plain = JSON.stringify(value);
  const json = spaced ? JSON.stringify(value, null, 1).replaceAll("\n", " ") : plain;
  return ascii
    ? json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json;
});

function scan(json: string): { bytes: number; notes: ContentNotes } {
  const notes: ContentNotes = { upstreamId: null, finishReason: null };
  const payload = bytesOf(json);
  return { bytes: scanContent(payload, 0, payload.length, notes), notes };
}

test("what the scan takes for content, a parser reads the same of; all else it leaves to the parser", () => {
  let taken = 0;
  fc.assert(
    fc.property(anyJson, (json) => {
      const { bytes, notes } = scan(json);
      if (bytes === -1) return;
      taken++;
      const event = readSseEvent(bytesOf(`data: ${json}\n\n`));
      assert.ok(event.kind === "content");
      assert.deepEqual(
        { bytes, ...notes },
        { bytes: event.bytes, upstreamId: event.upstreamId, finishReason: event.finishReason },
      );
      assert.equal(event.usage ?? null, null);
    }),
    { numRuns: 4000 },
  );
  assert.ok(taken > 200, `only ${taken} were scanned`);
});

test("the scan never takes a text that is no JSON object", () => {
  const broken = fc.tuple(anyJson, fc.nat(), fc.constantFrom("", "}", '"', ",", "x", "{", "[", "\\"));
  fc.assert(
    fc.property(broken, ([json, at, insert]) => {
      const place = at % (json.length + 1);
      const changed = insert === "" ? json.slice(0, place) : json.slice(0, place) + insert + json.slice(place);
      if (scan(changed).bytes !== -1) assert.doesNotThrow(() => JSON.parse(changed));
    }),
    { numRuns: 4000 },
  );
});

test("an ordinary event of every kind of delta is scanned, never parsed", () => {
  const deltas = [
    '{"role":"assistant","content":""}',
    '{"content":"Hi","tool_calls":null}',
    '{"reasoning_content":"hm\\n\\u00e9"}',
    '{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\\"a\\""}}]}',
    "{}",
  ];
  const counts = deltas.map((each) => scan(`{"id":"c","usage":null,"choices":[{"index":0,"delta":${each}}]}`).bytes);
  assert.deepEqual(counts, [0, 2, 5, 5, 0]);
});
