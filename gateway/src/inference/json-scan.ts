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
  /** Whether the next bytes are in a string. */
  inString(): boolean;
};

export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_ARRAY = 91;
export const BACKSLASH = 92;
export const CLOSE_ARRAY = 93;
export const OPEN_OBJECT = 123;
export const CLOSE_OBJECT = 125;

const isStructure = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) isStructure[byte] = 1;

export function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** A native search costs about as much as comparing this many bytes here. */
const NEAR_BYTES = 24;

/** @param stopsAtQuotes Whether the quotes of strings and keys are such places too. */
export function createJsonScan(stopsAtQuotes = false): JsonScan {
  let inString = false;
  /** The last chunk ended with the backslash of an escape. */
  let isEscaped = false;

  function stringEnd(bytes: Uint8Array, from: number): number {
    let at = isEscaped ? from + 1 : from;
    isEscaped = false;
    for (;;) {
      const near = Math.min(bytes.length, at + NEAR_BYTES);
      while (at < near && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      if (at < near) return at;
      const found = bytes.indexOf(QUOTE, at);
      const quote = found === -1 ? bytes.length : found;
      let escapes = quote;
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
      const wasEscaped = at > bytes.length || (quote - escapes) % 2 === 1;
      if (found === -1) {
        isEscaped = wasEscaped;
        return quote;
      }
      if (!wasEscaped) return quote;
      at = quote + 1;
    }
  }

  return {
    next(chunk, from) {
      let at = from;
      for (;;) {
        if (inString) {
          if (at < chunk.length) at = stringEnd(chunk, at);
          if (at >= chunk.length) return at;
          inString = false;
        } else {
          while (at < chunk.length && isStructure[chunk[at] as number] === 0) at++;
          if (chunk[at] !== QUOTE) return at;
          inString = true;
        }
        if (stopsAtQuotes) return at;
        at++;
      }
    },
    inString: () => inString,
  };
}
