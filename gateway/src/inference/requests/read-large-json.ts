import { fail } from "@inference/protocol/errors";
import type { JsonObject } from "../../json-object.ts";
import { createJsonScan, isSpace, QUOTE } from "../json-scan.ts";
import { createByteBuffer } from "../stream/byte-buffer.ts";
import { type LongText, type LongTexts, SHORT_TEXT_CHARACTERS, standIn } from "./long-text.ts";
import { BodyShape, notJson, parseWithMessages } from "./parse-json-body.ts";

/** A parsed body, in which short strings stand in for the long ones. */
export type ParsedBody = { value: JsonObject; texts: LongTexts };

/** Bytes scanned in one piece of work: 0.1 ms of text, 6 ms of short keys. */
const PIECE_BYTES = 32 * 1024;
/** The skeleton is the body without its long texts and white space. It is parsed at once. Stand-ins do not count. */
const MAX_SKELETON_BYTES = 768 * 1024;
const MAX_LONG_TEXTS = 4096;

/**
 * Reads a body that is too large to be parsed at once, in pieces: takes the long strings out, and parses the rest.
 * Accepts what `parseJsonBody` accepts, within the limits above. Throws `GatewayError` otherwise.
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
  // A body of one piece is parsed in that piece of work.
  if (bytes > PIECE_BYTES) yield;
  const { skeleton, texts } = scanner.end();
  const { value } = yield* parseWithMessages(skeleton, Buffer.from(skeleton));
  return { value, texts };
}

type Scanner = {
  scan(piece: Uint8Array): void;
  /** The body without its long texts, and these. */
  end(): { skeleton: string; texts: LongTexts };
};

function makeScanner(): Scanner {
  const scan = createJsonScan(true);
  const shape = new BodyShape();
  const skeleton = createByteBuffer();
  const texts = new Map<string, LongText>();
  let standInBytes = 0;
  /** Whether white space is left out here. At the start one stays, because a byte order mark after it is not one. */
  let isAfterSpace = false;
  /** Two strings without a comma between them are refused, because values are counted by commas. */
  let isAfterString = false;
  /** The open string so far, and its measure. */
  let slices: Uint8Array[] = [];
  let bytes = 0;
  let isKey = false;
  let measure: TextMeasure | null = null;

  function checkSize(): void {
    if (skeleton.length - standInBytes > MAX_SKELETON_BYTES) tooLarge();
  }

  function scanOutside(piece: Uint8Array, from: number, to: number): void {
    let start = from;
    for (let at = from; at < to; at++) {
      const isAnotherSpace = isSpace(piece[at] as number);
      if (isAnotherSpace && isAfterSpace) {
        skeleton.append(piece, start, at);
        start = at + 1;
      }
      isAfterSpace = isAnotherSpace;
    }
    skeleton.append(piece, start, to);
  }

  function scanString(piece: Uint8Array, from: number, to: number): void {
    if (isKey) skeleton.append(piece, from, to);
    if (isKey || from === to) return;
    slices.push(piece.subarray(from, to));
    bytes += to - from;
    if (bytes <= SHORT_TEXT_CHARACTERS) return;
    if (measure !== null) measure.add(piece.subarray(from, to));
    else {
      measure = makeTextMeasure();
      for (const slice of slices) measure.add(slice);
    }
  }

  function endString(): void {
    if (isKey) return;
    const measured = measure?.end();
    if (measured === undefined || measured.characters <= SHORT_TEXT_CHARACTERS) {
      for (const slice of slices) skeleton.append(slice, 0, slice.length);
    } else {
      if (texts.size >= MAX_LONG_TEXTS) tooManyTexts();
      const name = standIn(texts.size, Buffer.concat(slices, Math.min(bytes, SHORT_TEXT_CHARACTERS)));
      const written = Buffer.from(name);
      skeleton.append(written, 0, written.length);
      standInBytes += written.length;
      texts.set(name, { slices, bytes, ...measured });
    }
    slices = [];
    bytes = 0;
    measure = null;
  }

  return {
    scan(piece) {
      let from = 0;
      for (;;) {
        const wasInString = scan.inString();
        const at = scan.next(piece, from);
        if (wasInString) scanString(piece, from, at);
        else scanOutside(piece, from, at);
        checkSize();
        if (at === piece.length) return;
        if (piece[at] !== QUOTE) shape.note(piece[at] as number);
        else if (wasInString) endString();
        else if (isAfterString) notJson("a string follows another");
        else isKey = shape.keyComes();
        isAfterString = wasInString;
        skeleton.append(piece, at, at + 1);
        isAfterSpace = true;
        from = at + 1;
      }
    },
    end() {
      if (scan.inString()) notJson("it ends within a string");
      checkSize();
      return { skeleton: decode(new TextDecoder("utf-8", { fatal: true }), skeleton.take()), texts };
    },
  };
}

type TextMeasure = {
  add(slice: Uint8Array): void;
  end(): Pick<LongText, "units" | "characters">;
};

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Checks and measures a string from slices of the bytes between its quotes. */
function makeTextMeasure(): TextMeasure {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let units = 0;
  let characters = 0;
  /** The beginning of an escape at the end of the last slice. */
  let rest = "";
  /** The last UTF-16 unit. */
  let last = "";

  function add(text: string): void {
    const decoded = decodeLiteral(text);
    const pairsAt = last + decoded;
    units += decoded.length;
    characters += decoded.length - (pairsAt.length - pairsAt.replace(PAIR, "").length) / 2;
    last = decoded === "" ? last : decoded.slice(-1);
  }

  return {
    add(slice) {
      const text = rest + decode(utf8, slice, true);
      const end = escapeStart(text);
      rest = text.slice(end);
      add(text.slice(0, end));
    },
    end() {
      add(rest + decode(utf8));
      return { units, characters };
    },
  };
}

/** Where an unfinished escape at the end of a text begins; the text's length if there is none. */
function escapeStart(text: string): number {
  const last = text.lastIndexOf("\\");
  if (last < text.length - "\\u000".length || last === -1) return text.length;
  let first = last;
  while (text[first - 1] === "\\") first--;
  return (last - first) % 2 === 0 ? last : text.length;
}

function decodeLiteral(text: string): string {
  try {
    return JSON.parse(`"${text}"`);
  } catch (error) {
    // The position in the message is that in the piece, so it is removed.
    return notJson(String(error).replace(/^SyntaxError: | in JSON at .*$/gs, ""));
  }
}

function decode(utf8: TextDecoder, bytes?: Uint8Array, stream = false): string {
  try {
    return utf8.decode(bytes, { stream });
  } catch {
    return fail("invalid_request", "The body is not valid UTF-8.");
  }
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
