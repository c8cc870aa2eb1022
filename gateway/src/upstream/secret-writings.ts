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
  const pattern = new RegExp(keys.map((key) => [...key].map(writingsOf).join("")).join("|"), "g");
  const marks = ["%", "\\u", "\\/", ...keys].map((mark) => Buffer.from(mark));
  return {
    isIn: (text) => text.search(pattern) !== -1,
    mayBeIn(bytes) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      return marks.some((mark) => buffer.includes(mark));
    },
    remove: (text) => text.replace(pattern, "[removed]"),
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

/** A pattern of a character and its escapes. */
function writingsOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(2, "0");
  const digits = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const unescaped = character === "/" ? "\\\\{0,8}/" : character.replace(/\W/, "\\$&");
  return `(?:${unescaped}|%${digits}|\\\\{1,8}u00${digits})`;
}
