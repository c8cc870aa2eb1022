import { BoundedMap } from "../load/bounded-map.ts";

/**
 * Finds keys of ours in what the provider writes, in any of these writings, in upper or lower case:
 *
 * - unchanged;
 * - with any of its characters escaped: `%73`, `%2573`, `\u0073`, `\\u0073`, `\x73`, `\u{73}`, `&#115;`, `&#x73;`, `\/`;
 * - in base64 or base64url, at any place inside a longer text that was encoded whole;
 * - in hexadecimal digits.
 *
 * Not covered: a part of a key, a key with something between its characters, a key in another encoding or in two
 * different ones, and a key that is split over several texts.
 */
export type SecretFilter = {
  /** Whether there is a key in the text. */
  isIn(text: string): boolean;
  /** False only if `remove` would change nothing of these bytes. Costs a small part of what `remove` does. */
  mayBeIn(bytes: Uint8Array): boolean;
  /** The text with `[removed]` in place of each key. JSON stays JSON, except where more than 8 backslashes precede one. */
  remove(text: string): string;
  /** No writing of a key has more bytes. */
  longestBytes: number;
};

/** A shorter one is looked for nowhere: no provider's key is so short, and ordinary text would be taken for it. */
const MIN_SECRET_CHARACTERS = 8;
const REMOVED = "[removed]";
const noSecrets: SecretFilter = {
  isIn: () => false,
  mayBeIn: () => false,
  remove: (text) => text,
  longestBytes: 0,
};

/** @param secrets Of ASCII characters. Empty ones, and the same one twice, do no harm. */
export function makeSecretFilter(secrets: readonly string[]): SecretFilter {
  const needles = [...new Set(secrets)].filter(({ length }) => length >= MIN_SECRET_CHARACTERS).flatMap(writings);
  if (needles.length === 0) return noSecrets;
  const pattern = new RegExp(needles.map((needle) => needle.replace(/[^A-Za-z0-9]/g, "\\$&")).join("|"), "gi");

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

  const mayHaveOne = makeSieve(needles);

  return {
    mayBeIn: (bytes) => hasEscape(bytes) || mayHaveOne(bytes),
    isIn: (text) => (MAY_BE_ESCAPED.test(text) ? unescaped(text).plain : text).search(pattern) !== -1,
    remove,
    longestBytes: MAX_ESCAPE_BYTES * Math.max(...needles.map(({ length }) => length)),
  };
}

/** Filters for the keys that are always secret and one more: the key that a request is sent with. */
export type SecretFilters = (keyInUse: string) => SecretFilter;

const MAX_FILTERS = 256;

export function makeSecretFilters(always: readonly string[]): SecretFilters {
  const filters = new BoundedMap<string, SecretFilter>(MAX_FILTERS);
  return (keyInUse) => {
    const known = filters.get(keyInUse);
    if (known !== undefined) return known;
    const filter = makeSecretFilter([...always, keyInUse]);
    filters.set(keyInUse, filter);
    return filter;
  };
}

/** The writings of a key: unchanged, and inside an encoded text. Upper and lower case count as one. */
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

/** Most texts have none of these, and are not looked through for whole escapes. */
const MAY_BE_ESCAPED = /[\\%&]/;
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

const [BACKSLASH, PERCENT, AMPERSAND] = [0x5c, 0x25, 0x26];

/** Every escape contains `%`, `&`, or a backslash and one of three characters. */
function hasEscape(bytes: Uint8Array): boolean {
  if (bytes.includes(PERCENT) || bytes.includes(AMPERSAND)) return true;
  if (!bytes.includes(BACKSLASH)) return false;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return ["\\u", "\\x", "\\/"].some((mark) => buffer.includes(mark, 0, "latin1"));
}

/**
 * Finds runs of bytes that may be a needle: as long as the shortest, and made of groups of three bytes that needles
 * have. A needle covers at least one of the places that are looked at, so most bytes are not.
 */
function makeSieve(needles: readonly string[]): (bytes: Uint8Array) => boolean {
  const shortest = Math.min(...needles.map(({ length }) => length));
  const groups = new Uint8Array(GROUPS);
  for (const needle of needles) {
    const bytes = Buffer.from(needle, "latin1");
    for (let at = 0; at + 3 <= bytes.length; at++) groups[groupAt(bytes, at)] = 1;
  }
  return (bytes) => {
    const isKnown = (at: number): boolean => groups[groupAt(bytes, at)] === 1;
    const last = bytes.length - 3;
    for (let at = shortest - 3; at <= last; at += shortest - 2) {
      if (!isKnown(at)) continue;
      let from = at;
      while (from > 0 && isKnown(from - 1)) from--;
      let to = at;
      while (to < last && isKnown(to + 1)) to++;
      if (to + 3 - from >= shortest) return true;
    }
    return false;
  };
}

/** Five bits of each byte, the same for upper and lower case. */
const GROUPS = 1 << 15;

function groupAt(bytes: Uint8Array, at: number): number {
  const [one, two, three] = [bytes[at] as number, bytes[at + 1] as number, bytes[at + 2] as number];
  return ((one & 31) << 10) | ((two & 31) << 5) | (three & 31);
}

/** The text without escapes, and a function from its places to those of the original text. */
function unescaped(text: string): { plain: string; places(at: number): number } {
  /** The beginning and the end of each escape, in the plain and in the original text. */
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
