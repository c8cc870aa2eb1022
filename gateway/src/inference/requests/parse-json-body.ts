import { fail } from "@inference/protocol/errors";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import { complete } from "../../limits/sliced-work.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  createJsonScan,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from "../json-scan.ts";

/** Enough for any tool's schema. A limit is needed because bodies are written by recursion. */
export const MAX_DEPTH = 32;
const MAX_KEYS = 4096;
/** Of lists and objects together. Parsing or validating this many takes a few milliseconds. */
export const MAX_VALUES = 16_384;
/** The bytes that are checked in one piece of work. */
const PIECE_BYTES = 32 * 1024;

/**
 * Parses the body of a request, which must be an object. A duplicate key is refused, because parsers differ on which
 * value counts.
 *
 * @param bytes The text in UTF-8, if the caller has it.
 */
export function parseJsonBody(text: string, bytes: Uint8Array = Buffer.from(text)): JsonObject {
  return complete(parseWithMessages(text, bytes)).value;
}

/**
 * The same in pieces, the first of which is `JSON.parse`, and with the bytes of the member `messages`, if they can be
 * sent on as they came (see `checkShape`).
 */
export function* parseWithMessages(
  text: string,
  bytes: Uint8Array,
): Generator<void, { value: JsonObject; messages: Uint8Array | null }> {
  const body = parse(text);
  if (!isJsonObject(body)) fail("invalid_request", 'The body must be a JSON object, like {"model": "..."}.');
  yield;
  const messages = yield* checkShape(bytes);
  yield;
  checkNumbers(body, "");
  yield;
  return { value: body, messages };
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

/** Refuses numbers that are parsed as infinity, because they would be written as null. */
function checkNumbers(value: unknown, key: string): void {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    const param = key.slice(0, 64);
    fail("invalid_request", `\`${param}\` is too large to be a number. Send one that a double can hold.`, { param });
  }
  if (Array.isArray(value)) for (const item of value) checkNumbers(item, key);
  else if (isJsonObject(value)) for (const name of Object.keys(value)) checkNumbers(value[name], name);
}

/**
 * The bytes must be JSON. Returns those of the body's member `messages` if `JSON.stringify` would write as many: they
 * have no white space between their values, and no escape that it would write in another way. White space is always
 * beside a bracket, comma or colon.
 */
function* checkShape(bytes: Uint8Array): Generator<void, Uint8Array | null> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const scan = createJsonScan();
  const shape = new BodyShape();
  let from = 0;
  let pieceEnd = PIECE_BYTES;
  let messages: Buffer | null = null;
  let messagesAt = -1;
  let hasSpace = false;
  for (let at = scan.next(bytes, 0); at < bytes.length; at = scan.next(bytes, from)) {
    const byte = bytes[at] as number;
    if (messagesAt >= 0) {
      const isEnd = shape.depth() === 1 && (byte === COMMA || byte === CLOSE_OBJECT);
      hasSpace ||= isSpace(bytes[at - 1] as number) || (!isEnd && isSpace(bytes[at + 1] as number));
      if (isEnd) {
        messages = text.subarray(messagesAt, at);
        messagesAt = -1;
      }
    }
    if (byte === COLON && shape.noteKey(text.toString("utf8", from, at).trim()) === "messages" && shape.depth() === 1) {
      messagesAt = at + 1;
      hasSpace = isSpace(bytes[messagesAt] as number);
    }
    shape.note(byte);
    from = at + 1;
    if (at < pieceEnd) continue;
    pieceEnd = at + PIECE_BYTES;
    yield;
  }
  if (messages === null || hasSpace || messages.includes("\\u") || messages.includes("\\/")) return null;
  return messages;
}

/**
 * Refuses a body that is nested too deeply, has too many values, or has a key twice in one object. A class, because one
 * is made for every request, and a class makes its methods once.
 */
export class BodyShape {
  /** The keys seen of each object that is open; null for an open array. */
  readonly #open: (Set<string> | null)[] = [];
  #values = 1;
  #keyComes = false;

  /** A bracket, comma or colon. */
  note(byte: number): void {
    const open = this.#open;
    if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) open.pop();
    else if (byte !== COLON) this.#values++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open.push(byte === OPEN_OBJECT ? new Set() : null);
    if (open.length > MAX_DEPTH) fail("invalid_request", `The body is nested deeper than ${MAX_DEPTH} levels.`);
    if (this.#values > MAX_VALUES) {
      fail("invalid_request", `The body has more than ${MAX_VALUES} values. Send fewer, or longer texts.`);
    }
    this.#keyComes = byte === OPEN_OBJECT || (byte === COMMA && Boolean(open.at(-1)));
  }

  /** Returns the key before the next colon, `literal` as it is written. */
  noteKey(literal: string): string {
    const keys = this.#open.at(-1);
    const key: string = literal.includes("\\") ? JSON.parse(literal) : literal.slice(1, -1);
    if (keys?.has(key)) {
      const param = key.slice(0, 64);
      fail("invalid_request", `The key \`${param}\` is in the same object twice. Send it once.`, { param });
    }
    if (keys?.size === MAX_KEYS) fail("invalid_request", `An object of the body has more than ${MAX_KEYS} keys.`);
    keys?.add(key);
    return key;
  }

  /** How many objects and arrays are open. */
  depth(): number {
    return this.#open.length;
  }

  /** Whether a string that follows is a key. */
  keyComes(): boolean {
    return this.#keyComes;
  }
}
