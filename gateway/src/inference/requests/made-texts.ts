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
  /** The text itself, decoded; null for a long one of more than `maxBytes`, as it was written. */
  read(text: string, maxBytes: number): string | null;
  /** The long texts of the body and those that were made; null for a body that was parsed whole. */
  all: LongTexts | null;
  /** To be called after each small step. It ends the piece of work when enough was done in it. */
  rest(): Generator<void, void>;
};

/** The bytes that are made or read in one piece of work: about a millisecond. */
const PIECE_BYTES = 64 * 1024;
/** What a step counts, beside its bytes. */
const STEP_BYTES = 512;

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
      *rest() {},
    };
  }
  const all = new Map(texts);
  let workBytes = 0;

  function add(slices: readonly Uint8Array[]): string {
    const bytes = slices.reduce((sum, slice) => sum + slice.length, 0);
    workBytes += STEP_BYTES;
    // The name only has to be one that no other text has.
    const name = standIn(all.size, new Uint8Array());
    // Of a chat body nobody asks for the two counts, which are never above the bytes.
    const long: LongText = { slices, bytes, units: bytes, characters: bytes };
    all.set(name, long);
    return name;
  }

  /** A longer text that stays as it is could be what stands in for another. */
  function keep(text: string): string {
    if (text.length <= SHORT_TEXT_CHARACTERS) return text;
    workBytes += text.length;
    return add([literalOf(text)]);
  }

  return {
    join(parts) {
      if (parts.length === 1) return parts[0] as string;
      if (!parts.some((part) => all.has(part))) return keep(parts.join(""));
      return add(parts.flatMap((part) => all.get(part)?.slices ?? [literalOf(part)]));
    },
    *quote(json) {
      const slices: Uint8Array[] = [];
      workBytes += json.length;
      let hasLong = false;
      yield* writeLongTexts(json, all, (part) => {
        hasLong ||= typeof part !== "string";
        workBytes += part.length;
        slices.push(typeof part === "string" ? literalOf(part) : escapeAgain(part));
      });
      return hasLong ? add(slices) : json;
    },
    keep,
    read(text, maxBytes) {
      const long = all.get(text);
      if (long === undefined) return text;
      if (long.bytes > maxBytes) return null;
      workBytes += long.bytes;
      return JSON.parse(`"${Buffer.concat(long.slices).toString()}"`);
    },
    all,
    *rest() {
      workBytes += STEP_BYTES;
      if (workBytes < PIECE_BYTES) return;
      workBytes = 0;
      yield;
    },
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
