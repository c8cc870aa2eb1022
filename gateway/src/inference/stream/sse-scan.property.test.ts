import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytesOf, textOf } from "../../../test/metering/streams.ts";
import { readSseEvent, type SseChoice, type SseContentEvent } from "./sse-event.ts";
import { type ContentNotes, choiceBit, newNotes, scanContent, scannedHalfTokens, withoutForeign } from "./sse-scan.ts";

const text = fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.string({ unit: "grapheme", maxLength: 8 }));
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value);
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(value, { freq: 1, nil: null }).chain((some) => fc.constantFrom(...Array<null>(7).fill(null), some));
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
    index: fc.oneof({ weight: 8, arbitrary: fc.nat(40) }, fc.constantFrom(128, 1.5, 1e21, -1, null, "1")),
    delta: maybe(delta),
    finish_reason: maybe(fc.constantFrom("stop", "length", "")),
    logprobs: fc.jsonValue(),
    message: rarely(delta),
    text: rarely(text),
    usage: rarely(fc.constant({ prompt_tokens: 1 })),
  },
  { requiredKeys: [] },
);
const chunk = fc.record(
  {
    id: fc.constantFrom("chatcmpl-1", "chatcmpl-2"),
    object: fc.constantFrom(...Array<string>(9).fill("chat.completion.chunk"), "error"),
    created: fc.double(),
    model: fc.oneof(text, fc.constant(null)),
    system_fingerprint: maybe(text),
    service_tier: maybe(text),
    error: rarely(fc.jsonValue({ maxDepth: 1 })),
    usage: rarely(fc.constantFrom({}, { prompt_tokens: 1 })),
    choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ["choices"] },
);
const others = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ other: fc.jsonValue({ maxDepth: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ other: text, type: rarely(fc.constantFrom("error", "x")) }) },
);

/** JSON as different writers print it. */
const anyJson = fc
  .tuple(chunk, others, fc.boolean(), fc.boolean(), fc.boolean())
  .map(([known, other, isFirst, spaced, ascii]) => {
    const value = isFirst ? { ...other, ...known } : { ...known, ...other };
    const plain = JSON.stringify(value);
    const json = spaced ? JSON.stringify(value, null, 1).replaceAll("\n", " ") : plain;
    return ascii
      ? json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : json;
  });

type Scanned = { bytes: number; halfTokens: number; shown: Uint8Array | undefined; notes: ContentNotes };

function scan(json: string): Scanned {
  const notes = newNotes();
  const payload = bytesOf(json);
  const bytes = scanContent(payload, 0, payload.length, notes);
  return { bytes, halfTokens: scannedHalfTokens(), shown: withoutForeign(payload, 0, payload.length), notes };
}

const sum = (choices: readonly SseChoice[]): number => choices.reduce((total, { bytes }) => total + bytes, 0);

function notesOf({ chunk, choices }: SseContentEvent): ContentNotes {
  const bits = (some: readonly SseChoice[]): number => some.reduce((all, { index }) => all | choiceBit(index), 0);
  return {
    upstreamId: typeof chunk.id === "string" ? chunk.id : null,
    model: typeof chunk.model === "string" ? chunk.model : null,
    finishReason: choices.reduce<string | null>((last, choice) => choice.finishReason ?? last, null),
    begun: bits(choices),
    finished: bits(choices.filter(({ finishReason }) => finishReason !== null)),
  };
}

test("what the scan takes for content, a parser reads the same of; all else it leaves to the parser", () => {
  let taken = 0;
  let cut = 0;
  fc.assert(
    fc.property(anyJson, (json) => {
      const { bytes, halfTokens, shown, notes } = scan(json);
      if (bytes === -1) return;
      taken++;
      const event = readSseEvent(bytesOf(`data: ${json}\n\n`));
      assert.ok(event.kind === "content");
      assert.deepEqual({ bytes, ...notes }, { bytes: sum(event.choices), ...notesOf(event) });
      assert.equal(
        halfTokens,
        event.choices.reduce((total, choice) => total + choice.halfTokens, 0),
      );
      const left = shown === undefined ? null : JSON.parse(textOf(shown));
      if (left !== null) cut++;
      assert.deepEqual(
        left,
        event.shown === null ? null : JSON.parse(event.shown),
        "what is not for a client would pass",
      );
      assert.equal(event.chunk.usage ?? null, null);
    }),
    { numRuns: 4000 },
  );
  assert.ok(taken > 200, `only ${taken} were scanned`);
  assert.ok(cut > 50, `of only ${cut} a member was left out`);
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
