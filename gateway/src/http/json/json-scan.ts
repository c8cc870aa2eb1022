/**
 * Finds the structure of JSON in chunks of bytes that are cut anywhere: its brackets, commas and colons outside of
 * strings. It does not check the grammar, and its memory is constant.
 */
export type JsonScan = {
  /**
   * The place of the next bracket, comma or colon at or after `from`; the chunk's length if there is none. Call it with
   * ascending places, each after the last result.
   */
  next(chunk: Uint8Array, from: number): number;
  /** As `next`, for brackets alone: much faster where there are long lists of numbers. */
  nextBracket(chunk: Uint8Array, from: number): number;
};

export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_ARRAY = 91;
export const BACKSLASH = 92;
export const CLOSE_ARRAY = 93;
export const OPEN_OBJECT = 123;
export const CLOSE_OBJECT = 125;

const BRACKETS = [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT];
/** 1 for the bytes of brackets, commas, colons and quotes. */
export const isStructure = tableOf([QUOTE, COMMA, COLON, ...BRACKETS]);
const isBracket = tableOf([QUOTE, ...BRACKETS]);

function tableOf(bytes: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

export function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** A native search costs about as much as comparing this many bytes here. */
const NEAR_BYTES = 24;

export function createJsonScan(): JsonScan {
  let inString = false;
  /** The last chunk ended with the backslash of an escape. */
  let isEscaped = false;

  function find(chunk: Uint8Array, from: number, isWanted: Uint8Array): number {
    let at = from;
    for (;;) {
      if (inString) {
        if (at < chunk.length) {
          at = stringEnd(chunk, isEscaped ? at + 1 : at);
          isEscaped = at > chunk.length;
        }
        if (at >= chunk.length) return chunk.length;
        inString = false;
      } else {
        at = outsideOfStrings(chunk, at, isWanted);
        if (chunk[at] !== QUOTE) return at;
        inString = true;
      }
      at++;
    }
  }

  return {
    next: (chunk, from) => find(chunk, from, isStructure),
    nextBracket: (chunk, from) => find(chunk, from, isBracket),
  };
}

/**
 * Finds the quote that ends a string. `from` is inside the string. The bytes' length if there is
 * none, one more if they end within an escape.
 */
export function stringEnd(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  for (;;) {
    const near = Math.min(length, at + NEAR_BYTES);
    while (at < near && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    if (at < near || at >= length) return at;
    const found = bytes.indexOf(QUOTE, at);
    const quote = found === -1 ? length : found;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
    const isEscape = (quote - escapes) % 2 === 1;
    if (found === -1) return isEscape ? length + 1 : length;
    if (!isEscape) return quote;
    at = quote + 1;
  }
}

/** The place of the next wanted byte at or after `from`; the chunk's length if there is none. */
function outsideOfStrings(chunk: Uint8Array, from: number, isWanted: Uint8Array): number {
  const { length } = chunk;
  let at = from;
  for (;;) {
    const near = isWanted === isBracket ? Math.min(length, at + NEAR_BYTES) : length;
    while (at < near && isWanted[chunk[at] as number] === 0) at++;
    if (at < near || at === length) return at;
    at = afterNumbers(chunk, at);
  }
}

/**
 * The place after words of four bytes that have no bracket and no quote. The bit 0x40 is set in every bracket and in no
 * byte of a list of numbers.
 */
function afterNumbers(chunk: Uint8Array, from: number): number {
  const words = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
  let at = from;
  for (; at + 4 <= chunk.length; at += 4) {
    const word = words.getInt32(at);
    // Has a zero byte where the word has a quote.
    const quotes = word ^ 0x22222222;
    if (((word & 0x40404040) | ((quotes - 0x01010101) & ~quotes & 0x80808080)) !== 0) break;
  }
  return at;
}
