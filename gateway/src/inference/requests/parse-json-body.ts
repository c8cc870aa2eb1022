import { fail } from "@inference/protocol/errors";
import { complete } from "../../limits/sliced-work.ts";
import { isJsonObject, type JsonObject } from "./sort-fields.ts";

/** Deep enough for any tool's schema; what is written anew is written by a recursion. */
export const MAX_DEPTH = 32;
const MAX_KEYS = 4096;
/** Of lists and objects together. To parse or to validate so many takes a few milliseconds. */
export const MAX_VALUES = 16_384;
/** Characters that are looked at in one piece of work. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * The body of a request as an object. A key that is there twice is refused: parsers differ on which of the two counts.
 */
export function parseJsonBody(text: string): JsonObject {
  return complete(parseObject(text));
}

/** The same in pieces, of which the first is `JSON.parse`. */
export function* parseObject(text: string): Generator<void, JsonObject> {
  const body = parse(text);
  if (!isJsonObject(body)) fail("invalid_request", 'The body must be a JSON object, like {"model": "..."}.');
  yield* assertShape(text);
  return body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return notJson(error instanceof Error ? error.message.slice(0, 200) : "unreadable");
  }
}

export function notJson(why: string): never {
  return fail("invalid_request", `The body is not valid JSON: ${why}. Send one JSON object, encoded as UTF-8.`);
}

const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const EXPONENT = 101;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * One pass over a text that is known to be JSON: fails on a key that is there twice, on too deep a nesting, on too many
 * values, and on a number that is too large to be one.
 */
function* assertShape(text: string): Generator<void, void> {
  /** The keys seen of each object that is open; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let keys: Set<string> | null = null;
  let keyComes = false;
  let lastKey = "";
  let values = 1;
  let pieceEnd = PIECE_CHARACTERS;
  for (let at = 0; at < text.length; at++) {
    if (at >= pieceEnd) {
      pieceEnd = at + PIECE_CHARACTERS;
      yield;
    }
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = stringEnd(text, at);
        if (keyComes && keys !== null) {
          lastKey = text.slice(at + 1, end);
          addKey(keys, lastKey);
        }
        at = end;
        break;
      }
      case COMMA:
        keyComes = keys !== null;
        values += 1;
        if (values > MAX_VALUES) tooMany();
        break;
      case COLON:
        keyComes = false;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        keys = text.charCodeAt(at) === OPEN_OBJECT ? new Set() : null;
        keyComes = keys !== null;
        values += 1;
        if (values > MAX_VALUES) tooMany();
        if (open.push(keys) > MAX_DEPTH) tooDeep();
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        keys = open.at(-1) ?? null;
        keyComes = false;
        break;
      default:
        if (isDigit(text.charCodeAt(at))) at = lastOfNumber(text, at, lastKey);
    }
  }
}

export function tooDeep(): never {
  return fail("invalid_request", `The body is nested deeper than ${MAX_DEPTH} levels.`);
}

export function tooMany(): never {
  return fail("invalid_request", `The body has more than ${MAX_VALUES} values. Send fewer, or longer texts.`);
}

function isDigit(character: number): boolean {
  return character >= ZERO && character <= NINE;
}

/** So many digits are a number, with a point among them or without. */
const MAX_DIGITS = 300;

/**
 * The place of a number's last character. Past the largest number there is infinity, which would be written as null.
 *
 * @param key Under which it is, or its list.
 */
function lastOfNumber(text: string, start: number, key: string): number {
  let end = start + 1;
  let hasExponent = false;
  for (; ; end++) {
    const character = text.charCodeAt(end);
    // `e` and `E`; a sign is there after one of them only, or else JSON would not have it.
    if ((character | 32) === EXPONENT) hasExponent = true;
    else if (!isDigit(character) && character !== POINT && character !== PLUS && character !== MINUS) break;
  }
  if ((hasExponent || end - start > MAX_DIGITS) && !Number.isFinite(Number(text.slice(start, end)))) {
    const param = key.slice(0, 64);
    fail("invalid_request", `\`${param}\` is too large to be a number. Send one that a double can hold.`, { param });
  }
  return end - 1;
}

function addKey(keys: Set<string>, raw: string): void {
  const key: string = raw.includes("\\") ? JSON.parse(`"${raw}"`) : raw;
  if (keys.has(key)) {
    const param = key.slice(0, 64);
    fail("invalid_request", `The key \`${param}\` is in the same object twice. Send it once.`, { param });
  }
  if (keys.size >= MAX_KEYS) fail("invalid_request", `An object of the body has more than ${MAX_KEYS} keys.`);
  keys.add(key);
}

/**
 * The place of the quote that ends the string begun at `start`: the first with an even number of backslashes before it.
 */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - 1 - before) % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}
