import { BoundedMap } from "../load/bounded-map.ts";

/**
 * Finds keys of ours in what the provider writes: unchanged, or with any character escaped as `%73`, `\u0073` or `\/`,
 * with up to 8 backslashes. Not covered: a part of a key, a key with something between its characters, in another case
 * or encoding, or split over several texts.
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
/** The longest escape of a character: `\\\\\\\\u0073`. */
const MAX_ESCAPE_BYTES = 13;
const noSecrets: SecretFilter = {
  isIn: () => false,
  mayBeIn: () => false,
  remove: (text) => text,
  longestBytes: 0,
};

/** @param secrets Of ASCII characters. Empty ones, and the same one twice, do no harm. */
export function makeSecretFilter(secrets: readonly string[]): SecretFilter {
  const keys = [...new Set(secrets)].filter(({ length }) => length >= MIN_SECRET_CHARACTERS);
  if (keys.length === 0) return noSecrets;
  const pattern = new RegExp(keys.map((key) => key.replace(/\W/g, "\\$&")).join("|"), "g");
  const marks = ["%", "\\u", "\\/", ...keys].map((mark) => Buffer.from(mark));
  return {
    isIn: (text) => unescaped(text).plain.search(pattern) !== -1,
    mayBeIn(bytes) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      return marks.some((mark) => buffer.includes(mark));
    },
    remove(text) {
      const { plain, placeOf } = unescaped(text);
      let clean = "";
      let from = 0;
      for (const { 0: key, index } of plain.matchAll(pattern)) {
        clean += `${text.slice(from, placeOf(index))}[removed]`;
        from = placeOf(index + key.length);
      }
      return clean + text.slice(from);
    },
    longestBytes: MAX_ESCAPE_BYTES * Math.max(...keys.map(({ length }) => length)),
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

/** Most texts have none of these. */
const MAY_BE_ESCAPED = /%|\\[u/]/;
/** One pattern for all keys: compiling one of each key's escapes takes milliseconds. */
const ESCAPE = /%([2-7][0-9a-f])|\\{1,8}(?:u00([2-7][0-9a-f])|\/)/gi;

/** The text without escapes, and the place in the text of each place there, which must be asked for in order. */
function unescaped(text: string): { plain: string; placeOf(at: number): number } {
  if (!MAY_BE_ESCAPED.test(text)) return { plain: text, placeOf: (at) => at };
  /** The end of each escape, there and in the text. */
  const ends: { there: number; here: number }[] = [];
  let plain = "";
  let end = 0;
  for (const { 0: written, 1: percent, 2: unicode, index } of text.matchAll(ESCAPE)) {
    const code = percent ?? unicode;
    plain += text.slice(end, index) + (code === undefined ? "/" : String.fromCharCode(Number.parseInt(code, 16)));
    end = index + written.length;
    ends.push({ there: plain.length, here: end });
  }
  let next = 0;
  const placeOf = (at: number): number => {
    while (next < ends.length && (ends[next]?.there ?? 0) <= at) next += 1;
    const last = ends[next - 1];
    return last === undefined ? at : last.here + at - last.there;
  };
  return { plain: plain + text.slice(end), placeOf };
}
