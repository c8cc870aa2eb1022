import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { readJsonAnswer } from "./json-answer.ts";
import { createJsonTap, type JsonTap, type JsonTapOptions } from "./json-tap.ts";

const KEY = "upstream-key-0123456789";
const SHOWN = ["id", "object", "created", "model", "choices", "usage"];

const options: JsonTapOptions = {
  shown: SHOWN,
  content: "choices",
  elements: "choices",
  secrets: makeSecretFilter([KEY]),
};

function makeTap(): JsonTap {
  return createJsonTap(options);
}

type Read = { text: string; tally: unknown; tap: JsonTap };

function read(bytes: Uint8Array, cuts: readonly number[]): Read {
  const tap = makeTap();
  const passed: Uint8Array[] = [];
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    const out = tap.push(bytes.slice(from, place));
    if (out !== undefined) passed.push(out.slice());
    from = place;
  }
  if (tap.state() === "done") passed.push(tap.last(5));
  const tally = [tap.state(), tap.fault(), tap.reported(), tap.delivered(), tap.upstreamId(), tap.model()];
  return { text: Buffer.concat(passed).toString(), tally, tap };
}

function assertSame(one: Read, other: Read): void {
  assert.deepEqual([one.text, one.tally], [other.text, other.tally]);
}

const choice = fc.record(
  { index: fc.nat(), message: fc.record({ content: fc.string({ unit: "binary" }) }), more: fc.jsonValue() },
  { requiredKeys: [] },
);
const usage = fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat() });
const answer = fc.record(
  {
    id: fc.string(),
    object: fc.jsonValue(),
    other: fc.jsonValue(),
    'a "quoted\\" key': fc.jsonValue(),
    choices: fc.array(choice),
    model: fc.string({ unit: "binary" }),
    usage,
  },
  { requiredKeys: [] },
);
const cuts = fc.array(fc.nat({ max: 5_000 }), { maxLength: 40 });
const spacing = fc.constantFrom(undefined, 1, "\t", "\r\n");

test("an answer read in pieces is the answer read whole", () => {
  const property = fc.property(answer, spacing, cuts, (value, space, places) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value, null, space));
    assertSame(read(bytes, places), read(bytes, []));
  });
  fc.assert(property, { numRuns: 500 });
});

test("what a client gets of an answer parses to the members it may see, and to our usage", () => {
  const property = fc.property(answer, spacing, cuts, (value, space, places) => {
    const text = JSON.stringify(value, null, space);
    const parsed = JSON.parse(text) as Record<string, unknown>;
    const { text: shown } = read(new TextEncoder().encode(text), places);
    const { usage: shownUsage, ...rest } = JSON.parse(shown) as Record<string, unknown>;
    const expected = SHOWN.filter((name) => name !== "usage" && name in parsed).map((name) => [name, parsed[name]]);
    assert.deepEqual(rest, Object.fromEntries(expected));
    assert.equal((shownUsage as { prompt_tokens?: number } | undefined)?.prompt_tokens, value.usage?.prompt_tokens);
  });
  fc.assert(property, { numRuns: 500 });
});

test("a key of ours is removed from every place of the content, wherever the bytes are cut", () => {
  const hex = (character: string): string => character.charCodeAt(0).toString(16);
  const writings = [
    KEY,
    KEY.toUpperCase(),
    Buffer.from(KEY).toString("hex"),
    Buffer.from(`Bearer ${KEY}.`).toString("base64"),
    [...KEY].map((character) => `%${hex(character)}`).join(""),
    [...KEY].map((character) => `\\u00${hex(character)}`).join(""),
    [...KEY].map((character) => `&amp;amp;amp;#x000000${hex(character)}`).join(""),
  ];
  const around = fc.string({ unit: fc.constantFrom(..."ab 1,:{}["), maxLength: 2_000 });
  const property = fc.property(fc.constantFrom(...writings), around, around, cuts, (writing, before, after, places) => {
    const said = JSON.stringify(`${before}${writing}${after}`).replaceAll("\\\\", "\\");
    const list = `[{"message":{"content":${said}},"finish_reason":${said},${said}:0},${said}]`;
    const expected = list.replaceAll(writing, "[removed]");
    const bytes = new TextEncoder().encode(`{"choices":${list},"model":"m"}`);
    const { text, tap } = read(bytes, places);
    assert.equal(tap.state(), "done");
    // Of base64, the characters at the ends are partly of what stands beside the key.
    if (writing === writings[3]) assert.ok(!text.includes(writing.slice(12, -4)), text);
    else assert.equal(text, `{"choices":${expected},"model":"m"}`);
    const whole = readJsonAnswer(bytes, options)?.text(1);
    if (whole !== undefined) assert.deepEqual(JSON.parse(whole), JSON.parse(text));
  });
  fc.assert(property, { numRuns: 1_000 });
});

test("a small answer that is read at once is the answer that the tap reads", () => {
  const property = fc.property(answer, spacing, cuts, (value, space, places) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value, null, space));
    const whole = readJsonAnswer(bytes, options);
    if (whole === undefined) return;
    const { text, tally, tap } = read(bytes, places);
    assert.deepEqual(JSON.parse(whole.text(5)), JSON.parse(text));
    const { reported, delivered, upstreamId, model } = whole;
    // Where a usage is known, no estimate is made at once.
    const { halfTokens } = tap.delivered();
    const seen = { ...delivered(), ...(typeof reported().usage === "object" ? { halfTokens } : {}) };
    assert.deepEqual(["done", null, reported(), seen, upstreamId(), model()], tally);
  });
  fc.assert(property, { numRuns: 500 });
});

test("arbitrary bytes in pieces are the same bytes whole", () => {
  const byte = fc.constantFrom(...Buffer.from('{}[]",:\\ \n1ne'), 0xef, 0xbb, 0xbf);
  const bytes = fc.oneof(
    fc.array(byte, { maxLength: 60 }).map((list) => Uint8Array.from(list)),
    fc.tuple(answer, fc.nat(), byte).map(([value, at, wrong]) => {
      const good = new TextEncoder().encode(JSON.stringify(value));
      good[at % good.length] = wrong;
      return good;
    }),
  );
  const property = fc.property(bytes, cuts, (given, places) => {
    assertSame(read(given, places), read(given, []));
  });
  fc.assert(property, { numRuns: 2_000 });
});
