import { passageToken } from "./passage.ts";

/**
 * The simulator's own tokenizer. It counts one token for every four UTF-8 bytes begun, and four for each message, which
 * never exceeds the bytes of the serialized messages. Token i of an answer is one word of a fixed list.
 */

export const TOKENS_PER_MESSAGE = 4;
/** Tokens of a part that the provider fetches or decodes, whatever its bytes. */
export const TOKENS_PER_MEDIA_PART = 1024;

export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** 1 to 6 bytes each. Some are multi-byte, some need JSON escapes, and some look like the stream's own framing. */
export const VOCABULARY: readonly string[] = [
  ...[" the", " and", " of", "ing", " to", "a", " in", "er", " is", "s", " that", "ed", " for", " it", " as", "."],
  ..." caf\u00e9| \u00fcber|\u00e9|\u00f1|\u00df|\u65e5|\u672c\u8a9e|\u8a00|\u{1f642}|\u{1f680}|\u20ac|\u2014|\u03a9|\u044f|\u0434\u0430|\u05d0".split(
    "|",
  ),
  ...['"', "\\", "\n", "\t", "/", "<", "data:", "[DONE]", "{", "}", ": ", "null", "0", "42", " x", "&"],
  ...[
    " token",
    " price",
    " word",
    " sum",
    " day",
    " one",
    " two",
    " now",
    " yes",
    " no",
    ",",
    "!",
    "?",
    " (",
    ")",
    "-",
  ],
];

/** A start position that depends on the seed and the text only. */
export function startPosition(seed: number, text: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  const end = Math.min(text.length, 4096);
  for (let i = 0; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash % VOCABULARY.length;
}

/**
 * The text of answers: `noise` has every kind of awkward token, `english` is for people.
 */
export type AnswerText = "noise" | "english";

/** The text of an answer, a position in it, and a choice. */
export type Place = { text: AnswerText; start: number; choice: number };

/** Token `index` of a choice. The steps of noise are odd, so that an answer walks through the whole list. */
export function tokenAt({ text, start, choice }: Place, index: number): string {
  if (text === "english") return passageToken(start, choice, index);
  return VOCABULARY[(start + choice * 13 + index * 7) % VOCABULARY.length] ?? "";
}

export function tokensText(place: Place, from: number, to: number): string {
  let text = "";
  for (let i = from; i < to; i++) text += tokenAt(place, i);
  return text;
}
