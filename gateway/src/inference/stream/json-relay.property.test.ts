import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { chargedOf, withoutEstimate } from "../../../test/metering/charged.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { readJsonAnswer, type WholeAnswer } from "./json-answer.ts";
import { createJsonRelay, type JsonOptions, type JsonRelay } from "./json-relay.ts";

const SEED = 20_261_124;
const KEY = "upstream-key-0123456789";
const SHOWN = ["id", "object", "created", "model", "choices", "usage"];

const options: JsonOptions = {
  shown: SHOWN,
  content: "choices",
  elements: "choices",
  secrets: makeSecretFilter([KEY]),
};

type Read = { text: string; tally: unknown; tap: JsonRelay };

function read(bytes: Uint8Array, cuts: readonly number[], as = options): Read {
  const tap = createJsonRelay(as);
  const passed: Uint8Array[] = [];
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    const out = tap.push(bytes.slice(from, place));
    if (out !== undefined) passed.push(out.slice());
    from = place;
  }
  if (tap.state() === "done") passed.push(tap.last(chargedOf(tap, 5)));
  const tally = [tap.state(), tap.fault(), tap.reported(), tap.delivered(), tap.upstreamId(), tap.model()];
  return { text: withoutEstimate(Buffer.concat(passed).toString()), tally, tap };
}

function wholeText(whole: WholeAnswer): unknown {
  return JSON.parse(withoutEstimate(`${whole.body(chargedOf(whole, 5))}`));
}

/** The chunks decide how much of an unfinished answer has passed. */
function assertSame(one: Read, other: Read): void {
  assert.deepEqual(one.tally, other.tally);
  if (one.tap.state() === "done") assert.equal(one.text, other.text);
  else assert.ok(one.text.startsWith(other.text) || other.text.startsWith(one.text));
}

/** Long lists of numbers are skipped by words. */
const numbers = fc.array(fc.oneof(fc.double({ noNaN: true }), fc.array(fc.integer(), { maxLength: 30 })), {
  maxLength: 40,
});
const choice = fc.record(
  { index: fc.nat(), message: fc.record({ content: fc.string({ unit: "binary" }) }), more: fc.jsonValue(), numbers },
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
  fc.assert(property, { numRuns: runs(166), seed: SEED });
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
  fc.assert(property, { numRuns: runs(166), seed: SEED });
});

test("a key of ours is removed from every place of the content, wherever the bytes are cut", () => {
  const hex = (character: string): string => character.charCodeAt(0).toString(16);
  const writings = [
    KEY,
    [...KEY].map((character) => `%${hex(character)}`).join(""),
    [...KEY].map((character) => `\\u00${hex(character)}`).join(""),
  ];
  const around = fc.string({ unit: fc.constantFrom(..."ab 1,:{}["), maxLength: 2_000 });
  const property = fc.property(fc.constantFrom(...writings), around, around, cuts, (writing, before, after, places) => {
    const said = JSON.stringify(`${before}${writing}${after}`).replaceAll("\\\\", "\\");
    const list = `[{"message":{"content":${said}},"finish_reason":${said},${said}:0},${said}]`;
    const expected = list.replaceAll(writing, "[removed]");
    const bytes = new TextEncoder().encode(`{"choices":${list},"model":"m"}`);
    const { text, tap } = read(bytes, places);
    assert.equal(tap.state(), "done");
    assert.equal(text, `{"choices":${expected},"model":"m"}`);
    const whole = readJsonAnswer(bytes, options);
    if (whole.fault() === null) assert.deepEqual(wholeText(whole), JSON.parse(text));
  });
  fc.assert(property, { numRuns: runs(333), seed: SEED });
});

test("an answer that is parsed whole is the answer that passes through in pieces", () => {
  const property = fc.property(answer, spacing, cuts, (value, space, places) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value, null, space));
    const whole = readJsonAnswer(bytes, options);
    const { text, tap } = read(bytes, places);
    assert.deepEqual(wholeText(whole), JSON.parse(text));
    assert.deepEqual(
      [whole.fault(), whole.reported(), whole.delivered(), whole.elements(), whole.upstreamId(), whole.model()],
      [tap.fault(), tap.reported(), tap.delivered(), tap.elements(), tap.upstreamId(), tap.model()],
    );
  });
  fc.assert(property, { numRuns: runs(166), seed: SEED });
});

test("a transcript and its duration are read whole as in pieces", () => {
  const bound = { promptTokens: 0, completionTokens: 0, audioMs: 9_000 };
  const transcript: JsonOptions = { ...options, shown: ["text", "usage"], content: "text", elements: "text", bound };
  const duration = fc.oneof(fc.double({ min: -1, max: 2 ** 32 }), fc.constantFrom("8.47", "", "x", null, 0, 1e300));
  const said = fc.record(
    {
      segments: numbers,
      text: fc.oneof(fc.string({ unit: "binary" }), fc.nat()),
      duration,
      usage: fc.record({ seconds: duration }),
    },
    { requiredKeys: [] },
  );
  const property = fc.property(said, spacing, cuts, (value, space, places) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value, null, space));
    const whole = readJsonAnswer(bytes, transcript);
    const { tap } = read(bytes, places, transcript);
    assert.deepEqual(
      [whole.fault(), whole.reported(), whole.delivered(), whole.elements()],
      [tap.fault(), tap.reported(), tap.delivered(), tap.elements()],
    );
    const { usage } = tap.reported();
    if (typeof usage === "object") assert.ok(Number(usage.audioMs) > 0 && Number.isSafeInteger(usage.audioMs));
  });
  fc.assert(property, { numRuns: 500, seed: SEED });
});

test("a usage counts where JSON.parse finds it in the outermost object, and nowhere else", () => {
  const decoy = JSON.stringify({ usage: { prompt_tokens: 1, completion_tokens: 1 } });
  const text = fc.array(fc.constantFrom(decoy, '"', "\\", "]}", "{[", ",", ":", "é", "x"), { maxLength: 8 });
  const said = text.map((parts) => parts.join(""));
  const members = fc.dictionary(said, fc.oneof(said, fc.constant(JSON.parse(decoy)), fc.array(said)), { maxKeys: 4 });
  const property = fc.property(members, members, fc.option(usage), cuts, (before, after, given, places) => {
    const value = { ...before, choices: [before, after], ...(given === null ? {} : { usage: given }), ...after };
    const { tap } = read(new TextEncoder().encode(JSON.stringify(value)), places);
    assert.equal(tap.state(), "done");
    const { usage: found } = tap.reported();
    assert.equal(typeof found === "object" ? found.promptTokens : null, given?.prompt_tokens ?? null);
  });
  fc.assert(property, { numRuns: runs(333), seed: SEED });
});

test("arbitrary bytes in pieces are the same bytes whole", () => {
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\ \n1ne'), 0, 0xef, 0xbb, 0xbf), fc.nat({ max: 255 }));
  const wrong = fc.array(fc.tuple(fc.nat(), byte), { minLength: 1, maxLength: 5 });
  const bytes = fc.oneof(
    fc.array(byte, { maxLength: 60 }).map((list) => Uint8Array.from(list)),
    fc.uint8Array({ maxLength: 300 }),
    answer.map((value) => new Uint8Array(Buffer.from(JSON.stringify(value), "utf16le"))),
    fc.tuple(answer, wrong).map(([value, changes]) => {
      const good = new TextEncoder().encode(JSON.stringify(value));
      for (const [at, changed] of changes) good[at % good.length] = changed;
      return good;
    }),
  );
  const property = fc.property(bytes, cuts, (given, places) => {
    assertSame(read(given, places), read(given, []));
    readJsonAnswer(given, options);
  });
  fc.assert(property, { numRuns: runs(1_000), seed: SEED });
});
