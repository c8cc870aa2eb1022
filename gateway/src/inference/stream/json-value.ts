/**
 * Finds where one JSON value ends, in bytes that come in chunks cut anywhere. It counts brackets and does not descend,
 * so that its memory is constant and depth costs nothing. It checks no grammar inside a value: brackets of the wrong
 * kind and words that mean nothing pass.
 */
export type JsonValueScan = {
  /** Begins a value at its first byte, which is not white space. False if no value begins so. */
  begin(first: number): boolean;
  /** Goes on at `at`, which is below `end`. Answers the place after what belongs to the value; `isOver` says whether that was its end. */
  scan(bytes: Uint8Array, at: number, end: number): number;
  isOver(): boolean;
  /** The deepest nesting of arrays and objects in the value; 0 for a scalar. */
  depth(): number;
};

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_ARRAY = 91;
const OPEN_OBJECT = 123;
const CLOSE_ARRAY = 93;
const CLOSE_OBJECT = 125;
/** Outside strings, every byte up to this one except a quote is part of a number, a comma, a colon or white space. */
const LAST_PLAIN = 58;
/** Strings shorter than this are looked through by hand, for the native search costs about as much as so many bytes. */
const SHORT_STRING = 24;

export function createJsonValueScan(): JsonValueScan {
  let kind: "scalar" | "string" | "nested" = "scalar";
  let inString = false;
  let isEscaped = false;
  let nesting = 0;
  let deepest = 0;
  let over = false;
  /** The next quote and backslash in `searched`: remembered, so that no byte is searched twice. */
  let searched: Uint8Array | undefined;
  let nextQuote = 0;
  let nextBackslash = 0;

  /** The place of the quote that ends the string, or of the next backslash; `end` if neither comes. */
  function stringStop(bytes: Uint8Array, from: number, end: number): number {
    const near = Math.min(end, from + SHORT_STRING);
    for (let at = from; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE || byte === BACKSLASH) return at;
    }
    if (near === end) return end;
    if (searched !== bytes) {
      searched = bytes;
      nextQuote = -1;
      nextBackslash = -1;
    }
    if (nextQuote < near) nextQuote = placeOf(bytes, QUOTE, near);
    if (nextBackslash < near) nextBackslash = placeOf(bytes, BACKSLASH, near);
    return Math.min(nextQuote, nextBackslash, end);
  }

  /** The place after the quote that ends the string; `end` if it goes on. */
  function scanString(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    while (at < end) {
      if (isEscaped) {
        isEscaped = false;
        at++;
        continue;
      }
      at = stringStop(bytes, at, end);
      if (at === end) return end;
      if (bytes[at] === BACKSLASH) isEscaped = true;
      else inString = false;
      at++;
      if (!inString) return at;
    }
    return end;
  }

  function scanNested(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    while (at < end) {
      if (inString) {
        at = scanString(bytes, at, end);
        continue;
      }
      const byte = bytes[at++] as number;
      if (byte <= LAST_PLAIN && byte !== QUOTE) continue;
      if (byte === QUOTE) {
        inString = true;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        nesting++;
        if (nesting > deepest) deepest = nesting;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        nesting--;
        if (nesting === 0) {
          over = true;
          return at;
        }
      }
    }
    return end;
  }

  return {
    begin(first) {
      kind = first === QUOTE ? "string" : first === OPEN_OBJECT || first === OPEN_ARRAY ? "nested" : "scalar";
      inString = false;
      isEscaped = false;
      nesting = 0;
      deepest = 0;
      over = false;
      return kind !== "scalar" || isScalar(first);
    },
    scan(bytes, from, end) {
      if (kind === "nested") return scanNested(bytes, from, end);
      let at = from;
      if (kind === "string") {
        if (!inString) {
          // Its first byte, the opening quote.
          inString = true;
          at++;
        }
        at = scanString(bytes, at, end);
        over = !inString;
        return at;
      }
      while (at < end && isScalar(bytes[at] as number)) at++;
      over = at < end;
      return at;
    },
    isOver: () => over,
    depth: () => deepest,
  };
}

function placeOf(bytes: Uint8Array, byte: number, from: number): number {
  const place = bytes.indexOf(byte, from);
  return place === -1 ? Number.POSITIVE_INFINITY : place;
}

/** Digits, signs, points and letters: numbers, `true`, `false` and `null`. */
function isScalar(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    (byte >= 97 && byte <= 122) ||
    (byte >= 65 && byte <= 90) ||
    byte === 45 ||
    byte === 43 ||
    byte === 46
  );
}
