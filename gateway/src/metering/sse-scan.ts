/**
 * Reads a streamed content event without decoding or parsing it: almost every event of a stream is one, and all that
 * metering wants of it is a number. Whatever is not plainly such an event is left to `sse-event.ts`, which parses.
 *
 * The positions below are places in `bytes`; -1 means "not plainly content".
 */
export type ContentNotes = {
  /** The provider's id of the answer. */
  upstreamId: string | null;
  finishReason: string | null;
};

/** Deeper than any event; what is deeper is left to the parser. */
const MAX_DEPTH = 32;

type Visit = (bytes: Uint8Array, keyStart: number, keyEnd: number, at: number, end: number) => number;

/** Results of the scan that is running; a scan never waits, so that there is only one. */
let counted = 0;
let reasoning = 0;
let stringBytes = 0;
let stringEnd = 0;
let hasChoices = false;
let depth = 0;
let notes: ContentNotes = { upstreamId: null, finishReason: null };

/** The UTF-8 bytes that the event at [start, end) delivers; -1 if it is not plainly a content event. */
export function scanContent(bytes: Uint8Array, start: number, end: number, into: ContentNotes): number {
  counted = 0;
  hasChoices = false;
  depth = 0;
  notes = into;
  const at = scanObject(bytes, start, end, visitChunk);
  return at === end && hasChoices ? counted : -1;
}

const visitChunk: Visit = (bytes, keyStart, keyEnd, at, end) => {
  if (is(bytes, keyStart, keyEnd, keys.choices)) return scanArray(bytes, at, end, visitChoice);
  if (is(bytes, keyStart, keyEnd, keys.usage) || is(bytes, keyStart, keyEnd, keys.error))
    return skipNull(bytes, at, end);
  if (is(bytes, keyStart, keyEnd, keys.object)) return skipUnless(bytes, at, end, LETTER_E);
  if (notes.upstreamId === null && is(bytes, keyStart, keyEnd, keys.id) && bytes[at] === QUOTE) {
    const after = skipString(bytes, at, end);
    if (after !== -1) notes.upstreamId = plainText(bytes, at + 1);
    return after;
  }
  return skipValue(bytes, at, end);
};

const visitChoice: Visit = (bytes, keyStart, keyEnd, at, end) => {
  hasChoices = true;
  if (is(bytes, keyStart, keyEnd, keys.delta)) {
    if (bytes[at] !== OPEN_OBJECT) return skipNull(bytes, at, end);
    reasoning = 0;
    const after = scanObject(bytes, at, end, visitDelta);
    counted += reasoning;
    return after;
  }
  if (is(bytes, keyStart, keyEnd, keys.finish_reason) && bytes[at] === QUOTE) {
    const after = skipString(bytes, at, end);
    if (after !== -1) notes.finishReason = plainText(bytes, at + 1);
    return after;
  }
  return skipValue(bytes, at, end);
};

const visitDelta: Visit = (bytes, keyStart, keyEnd, at, end) => {
  if (is(bytes, keyStart, keyEnd, keys.content) || is(bytes, keyStart, keyEnd, keys.refusal)) {
    return countText(bytes, at, end);
  }
  if (is(bytes, keyStart, keyEnd, keys.reasoning_content) || is(bytes, keyStart, keyEnd, keys.reasoning)) {
    // Some providers send one text under both names.
    const before = counted;
    const after = countText(bytes, at, end);
    reasoning = Math.max(reasoning, counted - before);
    counted = before;
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

const visitFunction: Visit = (bytes, keyStart, keyEnd, at, end) =>
  is(bytes, keyStart, keyEnd, keys.name) || is(bytes, keyStart, keyEnd, keys.arguments)
    ? countText(bytes, at, end)
    : skipValue(bytes, at, end);

const encoder = new TextEncoder();
const key = (name: string): Uint8Array => encoder.encode(name);
const keys = {
  arguments: key("arguments"),
  choices: key("choices"),
  content: key("content"),
  delta: key("delta"),
  error: key("error"),
  finish_reason: key("finish_reason"),
  function: key("function"),
  id: key("id"),
  name: key("name"),
  object: key("object"),
  reasoning: key("reasoning"),
  reasoning_content: key("reasoning_content"),
  refusal: key("refusal"),
  role: key("role"),
  tool_calls: key("tool_calls"),
  usage: key("usage"),
};

const escapes = new Set(key('"\\/bfnrt'));
const literals = [key("null"), key("true"), key("false")];

const TAB = 9;
const SPACE = 32;
const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
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
function scanArray(bytes: Uint8Array, start: number, end: number, visit: Visit): number {
  if (bytes[start] !== OPEN_ARRAY) return -1;
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === CLOSE_ARRAY) return skipSpace(bytes, at + 1, end);
  for (;;) {
    at = scanObject(bytes, at, end, visit);
    if (at === -1 || at >= end) return -1;
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

function skipPrimitive(bytes: Uint8Array, at: number, end: number): number {
  for (const literal of literals) {
    if (bytes[at] !== literal[0]) continue;
    const after = at + literal.length;
    return after <= end && is(bytes, at, after, literal) ? skipSpace(bytes, after, end) : -1;
  }
  return skipNumber(bytes, at, end);
}

function skipNumber(bytes: Uint8Array, start: number, end: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  const whole = at;
  at = skipDigits(bytes, at, end);
  if (at === whole || (bytes[whole] === ZERO && at > whole + 1)) return -1;
  if (bytes[at] === POINT) {
    const fraction = at + 1;
    at = skipDigits(bytes, fraction, end);
    if (at === fraction) return -1;
  }
  if (((bytes[at] ?? 0) | 32) === LETTER_E) {
    const exponent = bytes[at + 1] === MINUS || bytes[at + 1] === PLUS ? at + 2 : at + 1;
    at = skipDigits(bytes, exponent, end);
    if (at === exponent) return -1;
  }
  return skipSpace(bytes, at, end);
}

function skipDigits(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= ZERO + 9) at++;
  return at;
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
  counted += stringBytes;
  return after;
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

/** UTF-8 bytes of `\uXXXX`; -1 for half of a surrogate pair, whose length depends on the other half. */
function escapedBytes(bytes: Uint8Array, at: number, end: number): number {
  const unit = hex4(bytes, at, end);
  if (unit < 0x80) return unit < 0 ? -1 : 1;
  if (unit < 0x800) return 2;
  if (unit < 0xd800 || unit > 0xdfff) return 3;
  return -1;
}

function hex4(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  let value = 0;
  for (let index = at; index < at + 4; index++) {
    const byte = (bytes[index] as number) | 32;
    const digit = byte >= 48 && byte <= 57 ? byte - 48 : byte >= 97 && byte <= 102 ? byte - 87 : -1;
    if (digit === -1) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** Line ends are not space here: a JSON value over several lines is not plain. */
function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  return at;
}

function is(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) if (bytes[start + index] !== name[index]) return false;
  return true;
}

const decoder = new TextDecoder();

/** The string that was skipped last: of ids and reasons, which have no escapes. */
function plainText(bytes: Uint8Array, start: number): string {
  return decoder.decode(bytes.subarray(start, stringEnd));
}
