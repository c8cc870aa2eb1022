import { COMMON_PAIRS, COMMON_WORDS } from "./common-words.ts";

/**
 * Estimates a text's tokens, so that the estimate is not below what a provider's tokenizer counts. Each UTF-8 byte is
 * a token, except that
 *
 * - a common word is one token, with the space before it;
 * - in other runs of letters, a letter that makes a common pair with the one before it, in the same case, is half a
 *   token, and a space before the first letter is none;
 * - a punctuation mark after the same one is half a token, and so is a space before punctuation.
 *
 * So the estimate is at most the bytes. That it is not too low is measured, not proved: `docs/metering.md` has the
 * texts and tokenizers, and says what bounds the loss.
 *
 * In half tokens: twice the estimate.
 */
export function halfTokens(text: string): number {
  halves = 0;
  wordHalves = 0;
  last = 0;
  lastKind = OTHER;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at++) addByte(bytes[at] as number);
  if (wordHalves !== 0) endWord();
  return lastKind === SPACE ? halves + 2 : halves;
}

function addByte(byte: number): void {
  const kind = kinds[byte] as number;
  if (kind <= UPPER) {
    if (wordHalves === 0) {
      wordHalves = 2;
      hash = HASH_START;
    } else wordHalves += kind === lastKind && commonPairs[pairOf(last, byte)] === 1 ? 1 : 2;
    hash = Math.imul(hash ^ byte, HASH_FACTOR);
  } else {
    if (wordHalves !== 0) endWord();
    if (lastKind === SPACE) halves += kind === PUNCTUATION ? 1 : 2;
    if (kind === PUNCTUATION && byte === last) halves += 1;
    else if (kind !== SPACE) halves += 2;
  }
  last = byte;
  lastKind = kind;
}

/**
 * What a call of a tool takes beside its name and arguments: the markers and the JSON around them, which are not sent.
 */
export const CALL_HALF_TOKENS = 32;

/** What an answer takes beside its text: tokens that end it and that no client sees, or a space before it. */
const ANSWER_TOKENS = 4;
/** Some tokenizers write a few characters anew before they read them, and make more bytes of them. */
const MARGIN_HALF_TOKENS = 128;

/** The tokens of an answer with so many half tokens of content, rounded up. */
export function tokensOf(contentHalves: number): number {
  return ANSWER_TOKENS + Math.ceil(contentHalves / 2 + contentHalves / MARGIN_HALF_TOKENS);
}

function endWord(): void {
  halves += wordHalves > 2 && isCommonWord(hash) ? 2 : wordHalves;
  wordHalves = 0;
}

const LOWER = 0;
const UPPER = 1;
const SPACE = 2;
const PUNCTUATION = 3;
/** Digits, control characters, other white space, and what is not ASCII. */
const OTHER = 4;

/** Of the text that is read: there is only one at a time. */
let halves = 0;
/** Of the run of letters that is open; 0 if none is. */
let wordHalves = 0;
let hash = 0;
let last = 0;
let lastKind = OTHER;

const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (character === " ") return SPACE;
  return /[!-/:-@[-`{-~]/.test(character) ? PUNCTUATION : OTHER;
});

const commonPairs = new Uint8Array(1024);
for (const pair of COMMON_PAIRS) commonPairs[pairOf(pair.charCodeAt(0), pair.charCodeAt(1))] = 1;

function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31);
}

/** FNV-1a, in a table with open addressing. */
const HASH_START = 0x811c9dc5 | 0;
const HASH_FACTOR = 0x01000193;
const SLOTS = 8192;
const slots = new Int32Array(SLOTS);
for (const word of COMMON_WORDS) {
  let value = HASH_START;
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), HASH_FACTOR);
  slots[slotOf(value)] = value;
}

function isCommonWord(value: number): boolean {
  return slots[slotOf(value)] === value;
}

/** Where this hash is, or would be. No word's hash is 0, which marks an empty slot. */
function slotOf(value: number): number {
  let slot = value & (SLOTS - 1);
  while (slots[slot] !== 0 && slots[slot] !== value) slot = (slot + 1) & (SLOTS - 1);
  return slot;
}
