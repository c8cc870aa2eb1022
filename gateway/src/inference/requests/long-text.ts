import { BACKSLASH, QUOTE } from "../json-scan.ts";

/**
 * A long string of a large body. It is not decoded: its bytes are checked, counted and sent on as they came. A short
 * string stands in for it in the parsed body.
 */
export type LongText = {
  /** The bytes between its quotes, with their escapes. */
  slices: readonly Uint8Array[];
  bytes: number;
  /** The decoded string's length, in UTF-16 units as `length` counts, and in characters. */
  units: number;
  characters: number;
};

/** By their stand-ins. */
export type LongTexts = ReadonlyMap<string, LongText>;

/**
 * A string of more characters is long. The maximum lengths in schemas are not above this, so a stand-in, which is a
 * little longer, is refused wherever its text would be. Larger maximums are checked with `charactersOfText`.
 */
export const SHORT_TEXT_CHARACTERS = 256;
const STAND_IN_LENGTH = SHORT_TEXT_CHARACTERS + 8;
const INDEX_DIGITS = 6;
const SHOWN_BYTES = 100;
/** A part of every stand-in. JSON has it in strings only. */
export const STAND_IN_PART = ".".repeat(STAND_IN_LENGTH - INDEX_DIGITS - SHOWN_BYTES);

/**
 * The stand-in for the text with this index. It begins as the text does, so that checks of a text's beginning hold, and
 * is then filled up. No other string of the body is the same, because all others are shorter.
 */
export function standIn(index: number, literal: Uint8Array): string {
  const filled = beginning(literal).padEnd(STAND_IN_LENGTH - INDEX_DIGITS, ".");
  return filled + String(index).padStart(INDEX_DIGITS, "0");
}

/** A text's first characters, up to one that is not ASCII or that JSON would escape. */
function beginning(literal: Uint8Array): string {
  const raw = String.fromCharCode(...literal.subarray(0, SHOWN_BYTES));
  let text = "";
  for (const [written, simple, unit] of raw.matchAll(/\\(?:([^u])|u([0-9a-fA-F]{4}))|[^\\]/gs)) {
    const character = unit !== undefined ? String.fromCharCode(Number.parseInt(unit, 16)) : (simple ?? written);
    const code = character.charCodeAt(0);
    const isLetter = simple !== undefined && simple !== "/";
    if (isLetter || code < 32 || code > 126 || code === QUOTE || code === BACKSLASH) break;
    text += character;
  }
  return text;
}

/** A string's size in UTF-8. A long one has its size as it was written, which is never less. */
export function bytesOfText(text: string, texts: LongTexts | null): number {
  return texts?.get(text)?.bytes ?? Buffer.byteLength(text);
}

/** A string's UTF-16 units. */
export function unitsOfText(text: string, texts: LongTexts | null): number {
  return texts?.get(text)?.units ?? text.length;
}

/** A string's characters, each a code point. */
export function charactersOfText(text: string, texts: LongTexts | null): number {
  return texts?.get(text)?.characters ?? [...text].length;
}
