import { addByte, beginText, CALL_HALF_TOKENS, endText } from "../../pricing/token-estimate.ts";
import { escapedBytes, hex4, is, skipNumber, skipPrimitive, skipSpace, smallNumber } from "./json-bytes.ts";

/**
 * Reads a streamed content event without decoding or parsing it: almost every event of a stream is one, and all that
 * metering wants of it is a number. Whatever is not plainly such an event is left to `sse-event.ts`, which parses.
 *
 * The positions below are places in `bytes`; -1 means "not plainly content".
 */
export type ContentNotes = {
  /** The provider's id of the answer. */
  upstreamId: string | null;
  /** The model that answers, as the provider names it. */
  model: string | null;
  finishReason: string | null;
  /** The choices that have begun and those that have a finish reason, a bit for each: see `choiceBit`. */
  begun: number;
  finished: number;
};

export const newNotes = (): ContentNotes => ({
  upstreamId: null,
  model: null,
  finishReason: null,
  begun: 0,
  finished: 0,
});

/** @param index A choice's `index`. Those above 30, of which no request has so many, share a bit. */
export function choiceBit(index: number): number {
  return 1 << Math.min(index, 30);
}

/** Deeper than any event; what is deeper is left to the parser. */
const MAX_DEPTH = 32;

type Visit = (bytes: Uint8Array, keyStart: number, keyEnd: number, at: number, end: number) => number;

/** Results of the scan that is running; a scan never waits, so that there is only one. */
let counted = 0;
let countedHalves = 0;
let reasoning = 0;
let reasoningHalves = 0;
let stringBytes = 0;
let stringEnd = 0;
let hasChoices = false;
/** The member that is not for a client, with a comma; an end of 0 says that there is none. */
let foreignStart = 0;
let foreignEnd = 0;
let depth = 0;
let choiceIndex = 0;
let choiceFinished = false;
let notes = newNotes();

/**
 * The UTF-8 bytes that the event at [start, end) delivers; -1 if it is not plainly a content event. One member that is
 * not for a client is plain, and `withoutForeign` leaves it out; more of them are left to the parser.
 */
export function scanContent(bytes: Uint8Array, start: number, end: number, into: ContentNotes): number {
  counted = 0;
  countedHalves = 0;
  hasChoices = false;
  foreignEnd = 0;
  depth = 0;
  choiceIndex = 0;
  choiceFinished = false;
  notes = into;
  const at = scanObject(bytes, start, end, visitChunk);
  return at === end && hasChoices ? counted : -1;
}

/** The estimate of the tokens that the event delivers that was scanned last, in half tokens. */
export function scannedHalfTokens(): number {
  return countedHalves;
}

/** Of the bytes around the event that was scanned last, those for a client; undefined if all of them are. */
export function withoutForeign(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  if (foreignEnd === 0) return undefined;
  const shown = new Uint8Array(end - start - (foreignEnd - foreignStart));
  shown.set(bytes.subarray(start, foreignStart));
  shown.set(bytes.subarray(foreignEnd, end), foreignStart - start);
  return shown;
}

const visitChunk: Visit = (bytes, keyStart, keyEnd, at, end) => {
  if (is(bytes, keyStart, keyEnd, keys.choices)) return scanArray(bytes, at, end, visitChoice, endChoice);
  if (is(bytes, keyStart, keyEnd, keys.id)) {
    if (notes.upstreamId !== null || bytes[at] !== QUOTE) return skipValue(bytes, at, end);
    const after = skipString(bytes, at, end);
    if (after !== -1) notes.upstreamId = plainText(bytes, at + 1);
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.model)) {
    if (notes.model !== null || bytes[at] !== QUOTE) return skipValue(bytes, at, end);
    const after = skipString(bytes, at, end);
    if (after !== -1) notes.model = plainText(bytes, at + 1);
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.object)) return skipUnless(bytes, at, end, LETTER_E);
  if (is(bytes, keyStart, keyEnd, keys.created)) return skipValue(bytes, at, end);
  if (is(bytes, keyStart, keyEnd, keys.system_fingerprint)) return skipValue(bytes, at, end);
  if (is(bytes, keyStart, keyEnd, keys.service_tier)) return skipValue(bytes, at, end);
  if (is(bytes, keyStart, keyEnd, keys.usage) || is(bytes, keyStart, keyEnd, keys.error)) {
    return skipNull(bytes, at, end);
  }
  return is(bytes, keyStart, keyEnd, keys.type) ? -1 : skipForeign(bytes, keyStart, at, end);
};

function skipForeign(bytes: Uint8Array, keyStart: number, at: number, end: number): number {
  const after = foreignEnd === 0 ? skipValue(bytes, at, end) : -1;
  if (after === -1) return -1;
  foreignStart = keyStart - 1;
  foreignEnd = after;
  if (bytes[after] === COMMA) foreignEnd++;
  else while (foreignStart > 0 && bytes[foreignStart] !== COMMA) foreignStart--;
  return after;
}

const visitChoice: Visit = (bytes, keyStart, keyEnd, at, end) => {
  hasChoices = true;
  if (is(bytes, keyStart, keyEnd, keys.delta)) {
    if (bytes[at] !== OPEN_OBJECT) return skipNull(bytes, at, end);
    reasoning = 0;
    reasoningHalves = 0;
    const after = scanObject(bytes, at, end, visitDelta);
    counted += reasoning;
    countedHalves += reasoningHalves;
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.index)) {
    choiceIndex = smallNumber(bytes, at);
    return choiceIndex === -1 ? -1 : skipNumber(bytes, at, end);
  }
  if (is(bytes, keyStart, keyEnd, keys.finish_reason) && bytes[at] === QUOTE) {
    const after = skipString(bytes, at, end);
    if (after === -1 || stringBytes === 0) return after;
    notes.finishReason = plainText(bytes, at + 1);
    choiceFinished = true;
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.usage)) return skipNull(bytes, at, end);
  // Content in other places than a delta.
  if (is(bytes, keyStart, keyEnd, keys.message) || is(bytes, keyStart, keyEnd, keys.text)) {
    return skipNull(bytes, at, end);
  }
  return skipValue(bytes, at, end);
};

function endChoice(): void {
  const bit = choiceBit(choiceIndex);
  notes.begun |= bit;
  if (choiceFinished) notes.finished |= bit;
  choiceIndex = 0;
  choiceFinished = false;
}

const visitDelta: Visit = (bytes, keyStart, keyEnd, at, end) => {
  if (is(bytes, keyStart, keyEnd, keys.content) || is(bytes, keyStart, keyEnd, keys.refusal)) {
    return countText(bytes, at, end);
  }
  if (is(bytes, keyStart, keyEnd, keys.reasoning_content) || is(bytes, keyStart, keyEnd, keys.reasoning)) {
    // Some providers send one text under both names.
    const before = counted;
    const halvesBefore = countedHalves;
    const after = countText(bytes, at, end);
    reasoning = Math.max(reasoning, counted - before);
    reasoningHalves = Math.max(reasoningHalves, countedHalves - halvesBefore);
    counted = before;
    countedHalves = halvesBefore;
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.tool_calls) && bytes[at] === OPEN_ARRAY) {
    return scanArray(bytes, at, end, visitToolCall);
  }
  if (is(bytes, keyStart, keyEnd, keys.role)) return skipValue(bytes, at, end);
  return skipNull(bytes, at, end);
};

const visitToolCall: Visit = (bytes, keyStart, keyEnd, at, end) =>
  is(bytes, keyStart, keyEnd, keys.function) && bytes[at] === OPEN_OBJECT
    ? scanObject(bytes, at, end, visitFunction)
    : skipValue(bytes, at, end);

const visitFunction: Visit = (bytes, keyStart, keyEnd, at, end) => {
  if (is(bytes, keyStart, keyEnd, keys.arguments)) return countText(bytes, at, end);
  if (!is(bytes, keyStart, keyEnd, keys.name)) return skipValue(bytes, at, end);
  const before = counted;
  const after = countText(bytes, at, end);
  if (counted > before) countedHalves += CALL_HALF_TOKENS;
  return after;
};

const encoder = new TextEncoder();
const key = (name: string): Uint8Array => encoder.encode(name);
const keys = {
  arguments: key("arguments"),
  choices: key("choices"),
  content: key("content"),
  created: key("created"),
  delta: key("delta"),
  error: key("error"),
  finish_reason: key("finish_reason"),
  function: key("function"),
  id: key("id"),
  index: key("index"),
  message: key("message"),
  model: key("model"),
  name: key("name"),
  object: key("object"),
  reasoning: key("reasoning"),
  reasoning_content: key("reasoning_content"),
  refusal: key("refusal"),
  role: key("role"),
  service_tier: key("service_tier"),
  system_fingerprint: key("system_fingerprint"),
  text: key("text"),
  tool_calls: key("tool_calls"),
  type: key("type"),
  usage: key("usage"),
};

const escapes = new Set(key('"\\/bfnrt'));
/** The characters that they write. */
const unescaped = Uint8Array.from({ length: 128 }, (_, letter) =>
  letter === 98 ? 8 : letter === 102 ? 12 : letter === 110 ? 10 : letter === 114 ? 13 : letter === 116 ? 9 : letter,
);

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const LETTER_E = 101;
const LETTER_N = 110;
const LETTER_U = 117;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Visits each key of the object at `at`, and answers with the place after it. A key with an escape in it is not plain.
 */
function scanObject(bytes: Uint8Array, start: number, end: number, visit: Visit): number {
  if (bytes[start] !== OPEN_OBJECT) return -1;
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === CLOSE_OBJECT) return skipSpace(bytes, at + 1, end);
  while (at < end && bytes[at] === QUOTE) {
    const keyStart = at + 1;
    let keyEnd = keyStart;
    for (; keyEnd < end && bytes[keyEnd] !== QUOTE; keyEnd++) {
      const byte = bytes[keyEnd] as number;
      if (byte === BACKSLASH || byte < SPACE) return -1;
    }
    at = skipSpace(bytes, keyEnd + 1, end);
    if (bytes[at] !== COLON) return -1;
    at = visit(bytes, keyStart, keyEnd, skipSpace(bytes, at + 1, end), end);
    if (at === -1 || at >= end) return -1;
    const byte = bytes[at];
    at = skipSpace(bytes, at + 1, end);
    if (byte === CLOSE_OBJECT) return at;
    if (byte !== COMMA) return -1;
  }
  return -1;
}

/** Visits each key of each object of the array at `at`, and answers with the place after it. */
function scanArray(bytes: Uint8Array, start: number, end: number, visit: Visit, endObject?: () => void): number {
  if (bytes[start] !== OPEN_ARRAY) return -1;
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === CLOSE_ARRAY) return skipSpace(bytes, at + 1, end);
  for (;;) {
    at = scanObject(bytes, at, end, visit);
    if (at === -1 || at >= end) return -1;
    endObject?.();
    const byte = bytes[at];
    at = skipSpace(bytes, at + 1, end);
    if (byte === CLOSE_ARRAY) return at;
    if (byte !== COMMA) return -1;
  }
}

/** The place after any value and the space behind it. */
function skipValue(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at];
  if (first === QUOTE) return skipString(bytes, at, end);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipPrimitive(bytes, at, end);
  if (depth === MAX_DEPTH) return -1;
  depth++;
  const after = first === OPEN_OBJECT ? scanObject(bytes, at, end, visitAny) : skipArray(bytes, at, end);
  depth--;
  return after;
}

const visitAny: Visit = (bytes, _keyStart, _keyEnd, at, end) => skipValue(bytes, at, end);

function skipArray(bytes: Uint8Array, start: number, end: number): number {
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === CLOSE_ARRAY) return skipSpace(bytes, at + 1, end);
  for (;;) {
    at = skipValue(bytes, at, end);
    if (at === -1 || at >= end) return -1;
    const byte = bytes[at];
    at = skipSpace(bytes, at + 1, end);
    if (byte === CLOSE_ARRAY) return at;
    if (byte !== COMMA) return -1;
  }
}

function skipNull(bytes: Uint8Array, at: number, end: number): number {
  return bytes[at] === LETTER_N ? skipPrimitive(bytes, at, end) : -1;
}

/** The value, unless it is a string that begins with this letter. */
function skipUnless(bytes: Uint8Array, at: number, end: number, letter: number): number {
  return bytes[at] === QUOTE && bytes[at + 1] === letter ? -1 : skipValue(bytes, at, end);
}

function countText(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== QUOTE) return skipNull(bytes, at, end);
  const after = skipString(bytes, at, end);
  if (after === -1) return -1;
  counted += stringBytes;
  beginText();
  for (let index = at + 1; index < stringEnd; index++) {
    const byte = bytes[index] as number;
    if (byte === BACKSLASH) index = addEscaped(bytes, index + 1);
    else addByte(byte);
  }
  countedHalves += endText();
  return after;
}

/** Adds what the escape at `at` writes, in a string that was found well formed, and answers with its last place. */
function addEscaped(bytes: Uint8Array, at: number): number {
  const letter = bytes[at] as number;
  if (letter !== LETTER_U) {
    addByte(unescaped[letter] as number);
    return at;
  }
  const unit = hex4(bytes, at + 1, at + 5);
  // Of what is not ASCII the estimate wants the number of bytes alone.
  if (unit < 0x80) addByte(unit);
  else for (let left = escapedBytes(bytes, at + 1, at + 5); left > 0; left--) addByte(0x80);
  return at + 4;
}

/**
 * Leaves in `stringBytes` how many UTF-8 bytes the string has when its escapes are read, in `stringEnd` where its end
 * quote is.
 */
function skipString(bytes: Uint8Array, start: number, end: number): number {
  let extra = 0;
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      stringBytes = at - start - 1 - extra;
      stringEnd = at;
      return skipSpace(bytes, at + 1, end);
    }
    if (byte < SPACE) return -1;
    if (byte !== BACKSLASH) continue;
    at++;
    if (bytes[at] !== LETTER_U) {
      if (!escapes.has(bytes[at] as number)) return -1;
      extra++;
      continue;
    }
    const length = escapedBytes(bytes, at + 1, end);
    if (length === -1) return -1;
    extra += 6 - length;
    at += 4;
  }
  return -1;
}

const decoder = new TextDecoder();

/** The string that was skipped last. */
function plainText(bytes: Uint8Array, start: number): string {
  const text = decoder.decode(bytes.subarray(start, stringEnd));
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}
