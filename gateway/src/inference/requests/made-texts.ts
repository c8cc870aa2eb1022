import { type LongText, type LongTexts, SHORT_TEXT_CHARACTERS, standIn } from "./long-text.ts";
import { writeLongTexts } from "./write-json.ts";

/**
 * Makes the texts of one body from those of another. Of a body that was read in pieces, a long text is only known by
 * its stand-in: what is made of it gets a stand-in too, and its bytes are not decoded.
 */
export type MadeTexts = {
  /** One text after the other. */
  join(texts: readonly string[]): string;
  /** A JSON text as the value of a string. Texts for which something stands in it are escaped once more. */
  quote(json: string): Generator<void, string>;
  /** A text that is not part of the body. */
  keep(text: string): string;
  /** The text itself, decoded. */
  read(text: string): string;
  /** The long texts of the body and those that were made; null for a body that was parsed whole. */
  all: LongTexts | null;
};

export function makeTexts(texts: LongTexts | null): MadeTexts {
  if (texts === null) {
    return {
      join: (parts) => parts.join(""),
      // biome-ignore lint/correctness/useYield: there is nothing to do in pieces.
      *quote(json) {
        return json;
      },
      keep: (text) => text,
      read: (text) => text,
      all: null,
    };
  }
  const all = new Map(texts);

  function add(slices: readonly Uint8Array[]): string {
    const bytes = slices.reduce((sum, slice) => sum + slice.length, 0);
    // The name only has to be one that no other text has.
    const name = standIn(all.size, new Uint8Array());
    // Of a chat body nobody asks for the two counts, which are never above the bytes.
    const long: LongText = { slices, bytes, units: bytes, characters: bytes };
    all.set(name, long);
    return name;
  }

  return {
    join(parts) {
      if (parts.length === 1) return parts[0] as string;
      if (!parts.some((part) => all.has(part))) return parts.join("");
      return add(parts.flatMap((part) => all.get(part)?.slices ?? [literalOf(part)]));
    },
    *quote(json) {
      const slices: Uint8Array[] = [];
      let hasLong = false;
      yield* writeLongTexts(json, all, (part) => {
        hasLong ||= typeof part !== "string";
        slices.push(typeof part === "string" ? literalOf(part) : escapeAgain(part));
      });
      return hasLong ? add(slices) : json;
    },
    keep: (text) => (text.length <= SHORT_TEXT_CHARACTERS ? text : add([literalOf(text)])),
    read(text) {
      const long = all.get(text);
      return long === undefined ? text : JSON.parse(`"${Buffer.concat(long.slices).toString()}"`);
    },
    all,
  };
}

/** The bytes between the quotes of a JSON string. */
function literalOf(text: string): Uint8Array {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

const QUOTE = 34;
const BACKSLASH = 92;

/** The bytes of a JSON string, as they are within another JSON string. */
function escapeAgain(literal: Uint8Array): Uint8Array {
  let escapes = 0;
  for (const byte of literal) if (byte === BACKSLASH || byte === QUOTE) escapes += 1;
  if (escapes === 0) return literal;
  const escaped = new Uint8Array(literal.length + escapes);
  let at = 0;
  for (const byte of literal) {
    if (byte === BACKSLASH || byte === QUOTE) escaped[at++] = BACKSLASH;
    escaped[at++] = byte;
  }
  return escaped;
}
