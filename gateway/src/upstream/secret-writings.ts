import { makeBoundedMap } from "../limits/bounded-map.ts";

/**
 * Finds keys of ours in what the provider writes, in any of these writings, in upper or lower case:
 *
 * - as it is;
 * - with any of its characters escaped: `%73`, `%2573`, `\u0073`, `\\u0073`, `\x73`, `\u{73}`, `&#115;`, `&#x73;`, `\/`;
 * - in base64 or base64url, at any place inside a longer text that was encoded whole;
 * - in hexadecimal digits.
 *
 * Not covered: a part of a key, a key with something in between its characters, one that is encoded twice in different
 * ways or in a way that is not named above, and a key of which each text that is looked at has only a part.
 */
export type SecretFilter = {
  /**
   * Whether there is a key in bytes of ASCII or UTF-8. Fast enough to be asked for every event of a stream: it
   * looks closely only where something resembles a key or an escaped character of one.
   */
  isIn(bytes: Uint8Array, start?: number, end?: number): boolean;
  /** The text with `[removed]` in place of each key. JSON stays JSON, except where more than 8 backslashes precede one. */
  remove(text: string): string;
  /** No writing of a key has more bytes. */
  longestBytes: number;
};

/** A shorter one is looked for nowhere: no provider's key is so short, and ordinary text would be taken for it. */
const MIN_SECRET_CHARACTERS = 8;
const REMOVED = "[removed]";
const noSecrets: SecretFilter = { isIn: () => false, remove: (text) => text, longestBytes: 0 };

/** @param secrets Of ASCII characters. Empty ones, and the same one twice, do no harm. */
export function makeSecretFilter(secrets: readonly string[]): SecretFilter {
  const needles = [...new Set(secrets)].filter(({ length }) => length >= MIN_SECRET_CHARACTERS).flatMap(writings);
  if (needles.length === 0) return noSecrets;
  const pattern = new RegExp(needles.map((needle) => needle.replace(/[^A-Za-z0-9]/g, "\\$&")).join("|"), "gi");
  const resembles = makeResemblance(needles);

  function remove(text: string): string {
    const { plain, places } = unescaped(text);
    let clean = "";
    let from = 0;
    for (const match of plain.matchAll(pattern)) {
      clean += text.slice(from, places(match.index)) + REMOVED;
      from = places(match.index + match[0].length);
    }
    return from === 0 ? text : clean + text.slice(from);
  }

  return {
    isIn(bytes, start = 0, end = bytes.length) {
      if (!resembles(bytes, start, end) && !hasEscape(bytes, start, end)) return false;
      // One character a byte: keys are of ASCII, and what else there is does not matter.
      const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
      return unescaped(text).plain.search(pattern) !== -1;
    },
    remove,
    longestBytes: MAX_ESCAPE_BYTES * Math.max(...needles.map(({ length }) => length)),
  };
}

/** Filters for the keys that are always secret and one more: the key that a request is sent with. */
export type SecretFilters = (keyInUse: string) => SecretFilter;

const MAX_FILTERS = 256;

export function makeSecretFilters(always: readonly string[]): SecretFilters {
  const filters = makeBoundedMap<string, SecretFilter>(MAX_FILTERS);
  return (keyInUse) => {
    const known = filters.get(keyInUse);
    if (known !== undefined) return known;
    const filter = makeSecretFilter([...always, keyInUse]);
    filters.set(keyInUse, filter);
    return filter;
  };
}

/** A key as it is and as whole texts are encoded that contain it. Upper and lower case are not told apart. */
function writings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // The characters that no byte before or after the key has a part in.
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const base64url = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  return [...new Set([secret, bytes.toString("hex"), ...base64, ...base64url])];
}

const LETTERS = 31;

/**
 * Whether a few bytes resemble those of a text that is looked for: the search by Wu and Manber, which looks at two
 * bytes, and then passes over as many as cannot begin such a text.
 */
function makeResemblance(needles: readonly string[]): (bytes: Uint8Array, start: number, end: number) => boolean {
  const length = Math.min(32, ...needles.map((needle) => needle.length));
  const steps = new Uint8Array(1024).fill(length - 1);
  const ends = needles.map((needle) => Buffer.from(needle.slice(0, length)));
  for (const needle of ends) {
    for (let at = 1; at < length; at++) {
      const pair = pairOf(needle, at);
      steps[pair] = Math.min(steps[pair] as number, length - 1 - at);
    }
  }
  const isNeedle = (bytes: Uint8Array, last: number): boolean =>
    ends.some((needle) => {
      let at = 0;
      while (at < length && (((bytes[last - at] as number) ^ (needle[length - 1 - at] as number)) & LETTERS) === 0)
        at++;
      return at === length;
    });
  return (bytes, start, end) => {
    for (let at = start + length - 1; at < end; ) {
      const step = steps[pairOf(bytes, at)] as number;
      if (step === 0 && isNeedle(bytes, at)) return true;
      at += step === 0 ? 1 : step;
    }
    return false;
  };
}

/** The byte at `at` and the one before it, without their case. */
function pairOf(bytes: Uint8Array, at: number): number {
  return (((bytes[at - 1] as number) & LETTERS) << 5) | ((bytes[at] as number) & LETTERS);
}

const PERCENT = 37;
const AMPERSAND = 38;
const BACKSLASH = 92;
const HASH = 35;
const LETTER_A = 97;

/** Whether a character is escaped that a key could have. */
function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if ((byte === BACKSLASH || byte === PERCENT || byte === AMPERSAND) && isEscape(bytes, at)) return true;
  }
  return false;
}

function isEscape(bytes: Uint8Array, at: number): boolean {
  const next = bytes[at + 1] ?? 0;
  if (bytes[at] === AMPERSAND) return next === HASH || (next | 32) === LETTER_A;
  if (bytes[at] === PERCENT) return next >= 0x32 && next <= 0x37;
  // Not the escapes that JSON has for quotes and for what is no character of a key.
  if ((next | 32) !== 0x75) return next === BACKSLASH || next === 0x2f || (next | 32) === 0x78;
  return bytes[at + 2] === 0x7b || (bytes[at + 2] === 0x30 && bytes[at + 3] === 0x30);
}

const ASCII = "([2-7][0-9a-f])";
/** The longest that `ESCAPE` matches: `\\\\\\\\u0026amp;amp;amp;amp;#x00000073;`. */
const MAX_ESCAPE_BYTES = 40;
const ESCAPE = new RegExp(
  [
    // First, for an ampersand may be escaped itself.
    `(?:&|\\\\{1,8}u0026)(?:amp;){0,4}#(?:0{0,6}(\\d{2,3})|x0{0,6}${ASCII});?`,
    `\\\\{1,8}(?:u00${ASCII}|u\\{0{0,6}${ASCII}\\}|x${ASCII}|\\/)`,
    `%(?:25){0,4}${ASCII}`,
  ].join("|"),
  "gi",
);

/** The text without escapes, and where each place of it is in the text as it was. */
function unescaped(text: string): { plain: string; places(at: number): number } {
  /** Where an escape begins and ends, in the plain text and in the text as it was. */
  const plainEnds: number[] = [];
  const textEnds: number[] = [];
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  ESCAPE.lastIndex = 0;
  for (let match = ESCAPE.exec(text); match !== null; match = ESCAPE.exec(text)) {
    const decimal = match[1];
    const hex = match[2] ?? match[3] ?? match[4] ?? match[5] ?? match[6];
    const code = hex !== undefined ? Number.parseInt(hex, 16) : decimal !== undefined ? Number(decimal) : 0x2f;
    if (match.index > from) parts.push(text.slice(from, match.index));
    parts.push(String.fromCharCode(code));
    length += match.index - from;
    plainEnds.push(length, length + 1);
    textEnds.push(match.index, ESCAPE.lastIndex);
    length += 1;
    from = ESCAPE.lastIndex;
  }
  let index = 0;
  return {
    plain: parts.length === 0 ? text : parts.join("") + text.slice(from),
    /** For ascending places. */
    places(at) {
      while ((plainEnds[index + 1] ?? Number.POSITIVE_INFINITY) <= at) index++;
      const end = plainEnds[index];
      return end === undefined || end > at ? at : (textEnds[index] as number) + at - end;
    },
  };
}
