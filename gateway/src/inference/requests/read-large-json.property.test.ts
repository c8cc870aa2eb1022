import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import fc from "fast-check";
import { context } from "../../../test/models.ts";
import { complete } from "../../limits/sliced-work.ts";
import { parseChatOrder } from "./chat.ts";
import { parseEmbeddingsOrder } from "./embeddings.ts";
import { parseImageGenerateOrder } from "./image-generate.ts";
import { parseImagesOrder } from "./images.ts";
import { charactersOfText, SHORT_TEXT_CHARACTERS, standIn, unitsOfText } from "./long-text.ts";
import type { WrittenOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { parseJsonBody } from "./parse-json-body.ts";
import { type ParsedBody, readLargeJson } from "./read-large-json.ts";
import { parseSpeechOrder } from "./speech.ts";
import { bytesOf, writeBody } from "./write-json.ts";

/** What one character of a string may look like in JSON: itself, or escaped in a way of its own. */
const character = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("a", " ", "/", "é", "漢", "👋", "\u2028", "\u007f", ".", "0") },
  { weight: 4, arbitrary: fc.constantFrom('\\"', "\\\\", "\\/", "\\n", "\\b", "\\u0041", "\\u00E9", "\\u0000") },
  { weight: 2, arbitrary: fc.constantFrom("\\ud83d", "\\udc4b", "\\ud83d\\udc4b", "\\uDC4B\\uD83D", "\\u0022") },
);

/** A string as JSON writes it, a run of one piece repeated: about as long as what counts as long, or much longer. */
const literal = fc
  .tuple(
    fc.array(character, { maxLength: 5 }).map((characters) => characters.join("")),
    character,
    fc.oneof(
      fc.nat(3),
      fc.integer({ min: SHORT_TEXT_CHARACTERS - 6, max: SHORT_TEXT_CHARACTERS + 6 }),
      fc.integer({ min: 120, max: 135 }),
      fc.integer({ min: 500, max: 2_000 }),
    ),
    fc.array(character, { maxLength: 5 }).map((characters) => characters.join("")),
  )
  .map(([before, unit, times, after]) => `"${before}${unit.repeat(times)}${after}"`);

const space = fc.constantFrom("", "", " ", "\n  ", "\t\r\n");
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    literal,
    fc.constantFrom("1", "-0.5", "1e9", "true", "false", "null", "[]", "{}"),
    fc
      .tuple(space, fc.array(tie("json"), { maxLength: 4 }), space)
      .map(([a, items, b]) => `[${a}${items.join(`${b},${a}`)}]`),
    fc
      .tuple(space, fc.array(fc.tuple(literal, tie("json")), { maxLength: 4 }))
      .map(([a, fields]) => `{${fields.map(([key, value]) => `${a}${key}${a}:${value}`).join(",")}${a}}`),
  ),
}));
const bodyText = fc
  .tuple(
    space,
    fc.uniqueArray(fc.string({ maxLength: 5 }), { maxLength: 5 }),
    fc.array(json, { minLength: 5, maxLength: 5 }),
  )
  .map(
    ([a, keys, values]) =>
      `${a}{${keys.map((key, index) => `${JSON.stringify(key)}:${values[index]}`).join(`,${a}`)}}${a}`,
  );

/** Bytes as they come: cut anywhere. */
const cuts = fc.array(fc.nat(), { maxLength: 6 });
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((one, other) => one - other);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

type Outcome = { body: ParsedBody } | { code: string };
function readIn(chunks: Uint8Array[]): Outcome {
  return outcome(() => ({ body: complete(readLargeJson(chunks)) }));
}
function outcome<T>(read: () => T): T | { code: string } {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return { code: error.detail.code };
  }
}

function textOf({ upstreamBody }: Pick<WrittenOrder, "upstreamBody">): string {
  return typeof upstreamBody === "string" ? upstreamBody : Buffer.concat(upstreamBody).toString();
}

test("a body that is read in pieces is what it is at once, and is written in no fewer bytes", () => {
  fc.assert(
    fc.property(bodyText, cuts, (text, places) => {
      const whole = outcome(() => ({ body: parseJsonBody(text) }));
      const read = readIn(cut(Buffer.from(text), places));
      if ("code" in whole) return assert.deepEqual(read, whole);
      assert.ok("body" in read, JSON.stringify(read));
      const { value, texts } = read.body;
      const written = complete(writeBody(value, texts));
      assert.deepEqual(JSON.parse(textOf(written)), whole.body);
      assert.equal(written.bytes, Buffer.byteLength(textOf(written)));
      assert.ok(written.bytes >= Buffer.byteLength(JSON.stringify(whole.body)));
      compareLengths(value, whole.body, read.body);
    }),
    { numRuns: 600 },
  );
});

/** Each string has its lengths, and a long one is known by them. */
function compareLengths(read: unknown, whole: unknown, body: ParsedBody): void {
  if (typeof whole === "string") {
    assert.ok(typeof read === "string");
    assert.equal(unitsOfText(read, body.texts), whole.length);
    assert.equal(charactersOfText(read, body.texts), [...whole].length);
    assert.equal(body.texts.has(read), [...whole].length > SHORT_TEXT_CHARACTERS);
    if (body.texts.has(read)) assert.ok([...read].length > SHORT_TEXT_CHARACTERS);
  } else if (typeof whole === "object" && whole !== null) {
    for (const [key, inner] of Object.entries(whole))
      compareLengths((read as Record<string, unknown>)[key], inner, body);
  }
}

test("a body with a byte changed, added or left out is refused in pieces where it is at once", () => {
  const change = fc.tuple(fc.nat(), fc.constantFrom("set", "add", "drop"), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(bodyText, change, cuts, (text, [place, kind, byte], places) => {
      const bytes = [...Buffer.from(text)];
      bytes.splice(place % bytes.length, kind === "add" ? 0 : 1, ...(kind === "drop" ? [] : [byte]));
      const changed = Uint8Array.from(bytes);
      const whole = isUtf8(changed)
        ? outcome(() => ({ body: parseJsonBody(new TextDecoder().decode(changed)) }))
        : { code: "invalid_request" };
      const read = readIn(cut(changed, places));
      if ("code" in whole) return assert.deepEqual(read, whole);
      assert.ok("body" in read, JSON.stringify(read));
      assert.deepEqual(JSON.parse(textOf(complete(writeBody(read.body.value, read.body.texts)))), whole.body);
    }),
    { numRuns: 1_500 },
  );
});

const routes = [
  { parse: parseChatOrder, fields: ["text-1", "seeing"] },
  { parse: parseEmbeddingsOrder, fields: ["embed"] },
  { parse: parseImagesOrder, fields: ["flat", "quality"] },
  { parse: parseImageGenerateOrder, fields: ["flat", "quality"] },
  { parse: parseSpeechOrder, fields: ["voice"] },
] as const;

test("a key that reads as what stands in for a text stays a key, and so do dots around one", () => {
  const text = "x".repeat(300);
  const name = standIn(0, Buffer.from(text));
  const dots = ".".repeat(200);
  const body = { [name]: 1, [`"${name}`]: text, [`"${name}"`]: dots, [dots]: [`"${dots}"`, text] };
  const { value, texts } = complete(readLargeJson([Buffer.from(JSON.stringify(body))]));
  assert.deepEqual(JSON.parse(textOf(complete(writeBody(value, texts)))), body);
});

test("a byte order mark is taken at the very beginning, and nowhere else", () => {
  const read = (text: string) => complete(readLargeJson([Buffer.from(text)])).value;
  assert.deepEqual(read('\ufeff {"a":1}'), { a: 1 });
  for (const text of [' \ufeff{"a":1}', '\n \ufeff{"a":1}', '{"a":1}\ufeff']) {
    assert.throws(() => read(text), /not valid JSON/, JSON.stringify(text));
  }
});

/** A field's JSON for each route: good, or wrong in ways that concern its length or its beginning. */
const url = fc
  .tuple(
    fc.constantFrom("https://", "http:\\/\\/", "data:image\\/png;base64,", "data:image/", "ftp://", "\\u0068ttps://"),
    literal,
  )
  .map(([start, text]) => `"${start}${text.slice(1)}`);
const field = fc.record({
  text: literal,
  url,
  role: fc.constantFrom("user", "system", "assistant", "tool"),
  model: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...routes.flatMap(({ fields }) => fields.slice(0, 2))) },
    fc.string(),
  ),
  name: fc.oneof({ weight: 3, arbitrary: fc.constant('"a"') }, literal),
});

test("an order of a body that is read in pieces is that of the body at once, and never promises less", () => {
  fc.assert(
    fc.property(fc.constantFrom(...routes), field, cuts, ({ parse }, { text, url, role, model, name }, places) => {
      const part = `{"type":"image_url","image_url":{"url":${url}}}`;
      const content = role === "user" ? `[{"type":"text","text":${text}},${part}]` : text;
      const bodies: Record<string, string> = {
        parseChatOrder: `"messages":[{"role":"${role}","name":${name},"content":${content}},{"role":"user","content":${text}}],"metadata":{"a":${text}}`,
        parseEmbeddingsOrder: `"input":[${text},${name}]`,
        parseImagesOrder: `"prompt":${text},"quality":"auto"`,
        parseImageGenerateOrder: `"prompt":${text},"negative_prompt":${name}`,
        parseSpeechOrder: `"input":${text},"prompt":${name}`,
      };
      const body = `{"model":${JSON.stringify(model)},${bodies[parse.name]}}`;
      const whole = orderOf(parse, { value: parseJsonBody(body), texts: null });
      const inPieces = orderOf(parse, complete(readLargeJson(cut(Buffer.from(body), places))));
      if (!("order" in whole)) return assert.deepEqual(inPieces, whole);
      assert.ok("order" in inPieces, "detail" in inPieces ? JSON.stringify(inPieces) : "");
      assert.deepEqual(JSON.parse(textOf(inPieces.order)), JSON.parse(textOf(whole.order)));
      assert.deepEqual(inPieces.order.ignored, whole.order.ignored);
      assert.ok(inPieces.order.quote.maxNanoUsd >= whole.order.quote.maxNanoUsd);
      assert.ok(bytesOf(inPieces.order.upstreamBody) >= bytesOf(whole.order.upstreamBody));
    }),
    { numRuns: 1_000 },
  );
});

function orderOf(
  parse: (body: unknown, context: OrderContext) => Generator<void, WrittenOrder>,
  { value, texts }: Pick<OrderContext, "texts"> & { value: unknown },
): { order: WrittenOrder } | { detail: unknown } {
  try {
    return { order: complete(parse(value, { ...context, texts })) };
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    const { code, param, message } = error.detail;
    return { detail: { code, param, message } };
  }
}
