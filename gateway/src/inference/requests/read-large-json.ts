import { fail } from "@inference/protocol/errors";
import { type LongText, type LongTexts, SHORT_TEXT_CHARACTERS, standIn } from "./long-text.ts";
import { MAX_DEPTH, MAX_VALUES, notJson, parseObject, tooDeep, tooMany } from "./parse-json-body.ts";
import type { JsonObject } from "./sort-fields.ts";

/** A body as an object, in which short strings stand in for the long ones. */
export type ParsedBody = { value: JsonObject; texts: LongTexts };

/** So many bytes are scanned in one piece of work: a fraction of a millisecond. */
export const PIECE_BYTES = 128 * 1024;
/** What is parsed at once: all of a body but its long texts and its white space, */
export const MAX_SKELETON_BYTES = 768 * 1024;
/** and what stands in for so many of them. */
export const MAX_LONG_TEXTS = 4096;

/**
 * Reads a body that is too large to be parsed at once, in pieces: takes the long strings out of it, and parses what is
 * left. Accepts what `parseJsonBody` accepts, within the limits above. Throws `GatewayError` otherwise.
 */
export function* readLargeJson(chunks: readonly Uint8Array[]): Generator<void, ParsedBody> {
  const scanner = makeScanner();
  let unyielded = 0;
  let bytes = 0;
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
      const piece = chunk.subarray(from, from + PIECE_BYTES);
      unyielded += piece.length;
      bytes += piece.length;
      if (unyielded > PIECE_BYTES) {
        yield;
        unyielded = piece.length;
      }
      scanner.scan(piece);
    }
  }
  // A body of one piece is parsed in the same.
  if (bytes > PIECE_BYTES) yield;
  const { skeleton, texts } = scanner.end();
  return { value: yield* parseObject(skeleton), texts };
}

type Scanner = {
  scan(piece: Uint8Array): void;
  /** What is left of the body, as text, and what was taken out of it. */
  end(): { skeleton: string; texts: LongTexts };
};

const QUOTE = 34;
const COMMA = 44;
const SLASH = 47;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const SPACE = 32;
const LOWER_U = 117;

/** Where in an escape: after the backslash, or so many hexadecimal digits before its end. */
const NO_ESCAPE = 0;
const AFTER_BACKSLASH = 5;

const NO_DIGIT = 255;

const isSimpleEscape = table([QUOTE, BACKSLASH, SLASH, ...codes("bfnrt")]);
const isWhiteSpace = table(codes(" \t\n\r"));
/** After one of these, white space says nothing. */
const endsToken = table([...codes(",:[{ ")]);
const everyByte = Array.from({ length: 256 }, (_, byte) => byte);
/** What stands in a string for itself; the number of characters that begin with it, and of their UTF-16 units. */
const isPlain = table(everyByte.filter((byte) => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH));
const charactersOf = Uint8Array.from(everyByte, (byte) => (byte < 0x80 || byte >= 0xc0 ? 1 : 0));
const unitsOf = Uint8Array.from(everyByte, (byte) => (byte >= 0xf0 ? 2 : (charactersOf[byte] ?? 0)));
const hexDigits = hexTable();
const encoder = new TextEncoder();

function makeScanner(): Scanner {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const texts = new Map<string, LongText>();
  let skeleton = new Uint8Array(256 * 1024);
  let length = 0;
  let standInBytes = 0;
  let values = 1;
  /** Of each list or object that is open, whether it is an object. */
  const open: boolean[] = [];
  let keyComes = false;

  let inString = false;
  let isKey = false;
  /** The place in the skeleton after the string's first quote. */
  let stringStart = 0;
  let escaped = NO_ESCAPE;
  /** The unit that an escape's digits say so far. */
  let unit = 0;
  /** The last unit was the first half of a pair. */
  let afterHigh = false;
  let units = 0;
  let characters = 0;
  /** What there is of the string that is being taken out; null for one that is copied to the skeleton. */
  let taken: { standIn: string; slices: Uint8Array[] } | null = null;

  function makeRoom(more: number): void {
    if (length - standInBytes > MAX_SKELETON_BYTES) tooLarge();
    if (length + more <= skeleton.length) return;
    const larger = new Uint8Array(2 * (length + more));
    larger.set(skeleton.subarray(0, length));
    skeleton = larger;
  }

  /** Outside of strings. Answers with the place after what was scanned. */
  function scanStructure(piece: Uint8Array, start: number): number {
    let at = start;
    for (; at < piece.length; at++) {
      const byte = piece[at] as number;
      if (isWhiteSpace[byte] === 1) {
        // At the beginning too: a byte order mark after it is not one.
        if (length === 0 || endsToken[skeleton[length - 1] as number] === 0) skeleton[length++] = SPACE;
        continue;
      }
      skeleton[length++] = byte;
      if (byte === QUOTE) {
        beginString();
        return at + 1;
      }
      if (byte === COMMA || byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        values += 1;
        if (values > MAX_VALUES) tooMany();
        if (byte !== COMMA && open.push(byte === OPEN_OBJECT) > MAX_DEPTH) tooDeep();
        keyComes = open.at(-1) === true;
      } else if (byte === COLON) keyComes = false;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        open.pop();
        keyComes = false;
      }
    }
    return at;
  }

  function beginString(): void {
    inString = true;
    isKey = keyComes;
    stringStart = length;
    escaped = NO_ESCAPE;
    afterHigh = false;
    units = 0;
    characters = 0;
    taken = null;
  }

  /** Within a string. Answers with the place after what was scanned: after its last quote, or the piece's end. */
  function scanString(piece: Uint8Array, start: number): number {
    let from = start;
    let at = start;
    while (at < piece.length) {
      const plainAt = at;
      const most = taken !== null || isKey ? piece.length : Math.min(piece.length, at + SHORT_TEXT_CHARACTERS);
      if (escaped === NO_ESCAPE) at = scanPlain(piece, at, most);
      if (at === plainAt) {
        const byte = piece[at++] as number;
        if (byte === QUOTE && escaped === NO_ESCAPE) {
          keep(piece, from, at - 1);
          endString();
          return at;
        }
        scanEscape(byte);
      }
      if (characters > SHORT_TEXT_CHARACTERS && taken === null && !isKey) {
        keep(piece, from, at);
        takeOut();
        from = at;
      }
    }
    keep(piece, from, at);
    return at;
  }

  /** Characters that stand for themselves, whatever number of bytes each has. */
  function scanPlain(piece: Uint8Array, start: number, end: number): number {
    let at = start;
    let pieceUnits = 0;
    let pieceCharacters = 0;
    for (; at < end; at++) {
      const byte = piece[at] as number;
      if (isPlain[byte] === 0) break;
      pieceUnits += unitsOf[byte] as number;
      pieceCharacters += charactersOf[byte] as number;
    }
    units += pieceUnits;
    characters += pieceCharacters;
    if (at > start) afterHigh = false;
    return at;
  }

  /** A byte of an escape, its backslash among them, or one that no string may have. */
  function scanEscape(byte: number): void {
    if (escaped === AFTER_BACKSLASH) {
      if (byte === LOWER_U) {
        escaped = AFTER_BACKSLASH - 1;
        unit = 0;
        return;
      }
      if (isSimpleEscape[byte] === 0) notJson("a string has an escape that JSON does not have");
      escaped = NO_ESCAPE;
      units += 1;
      characters += 1;
      afterHigh = false;
    } else if (escaped !== NO_ESCAPE) {
      const digit = hexDigits[byte] as number;
      if (digit === NO_DIGIT) notJson("a string has an escape that is not four hexadecimal digits");
      unit = unit * 16 + digit;
      escaped -= 1;
      if (escaped === NO_ESCAPE) countUnit();
    } else if (byte === BACKSLASH) escaped = AFTER_BACKSLASH;
    else notJson("a string has a control character that is not escaped");
  }

  /** An escaped unit; the second half of a pair is no character of its own. */
  function countUnit(): void {
    const isPairsEnd = afterHigh && unit >= 0xdc00 && unit < 0xe000;
    units += 1;
    if (!isPairsEnd) characters += 1;
    afterHigh = unit >= 0xd800 && unit < 0xdc00;
  }

  function keep(piece: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    if (taken !== null) {
      taken.slices.push(piece.subarray(from, to));
      return;
    }
    skeleton.set(piece.subarray(from, to), length);
    length += to - from;
  }

  function takeOut(): void {
    if (texts.size >= MAX_LONG_TEXTS) tooManyTexts();
    const begun = skeleton.slice(stringStart, length);
    taken = { standIn: standIn(texts.size, begun), slices: [begun] };
    length = stringStart + encoder.encodeInto(taken.standIn, skeleton.subarray(stringStart)).written;
    standInBytes += length - stringStart;
  }

  function endString(): void {
    inString = false;
    skeleton[length++] = QUOTE;
    if (taken === null) return;
    const { slices } = taken;
    const bytes = slices.reduce((sum, slice) => sum + slice.length, 0);
    texts.set(taken.standIn, { slices, bytes, units, characters });
    taken = null;
  }

  return {
    scan(piece) {
      try {
        utf8.decode(piece, { stream: true });
      } catch {
        notUtf8();
      }
      // No byte adds more than itself, but for what stands in for a text, which is longer than its beginning.
      makeRoom(2 * piece.length + 1024);
      let at = 0;
      while (at < piece.length) at = inString ? scanString(piece, at) : scanStructure(piece, at);
    },
    end() {
      makeRoom(0);
      if (inString) notJson("it ends within a string");
      try {
        utf8.decode();
        return { skeleton: new TextDecoder("utf-8", { fatal: true }).decode(skeleton.subarray(0, length)), texts };
      } catch {
        return notUtf8();
      }
    },
  };
}

function table(bytes: readonly number[]): Uint8Array {
  const is = new Uint8Array(256);
  for (const byte of bytes) is[byte] = 1;
  return is;
}

function codes(text: string): number[] {
  return [...text].map((character) => character.charCodeAt(0));
}

function hexTable(): Uint8Array {
  const digits = new Uint8Array(256).fill(NO_DIGIT);
  for (const [value, code] of codes("0123456789abcdef").entries()) digits[code] = value;
  for (const [value, code] of codes("ABCDEF").entries()) digits[code] = 10 + value;
  return digits;
}

function notUtf8(): never {
  return fail("invalid_request", "The body is not valid UTF-8.");
}

function tooLarge(): never {
  return fail(
    "invalid_request",
    `The body has more than ${MAX_SKELETON_BYTES} bytes beside its long texts. Send fewer keys and short texts.`,
  );
}

function tooManyTexts(): never {
  return fail(
    "invalid_request",
    `The body has more than ${MAX_LONG_TEXTS} texts of over ${SHORT_TEXT_CHARACTERS} characters. Send fewer.`,
  );
}
