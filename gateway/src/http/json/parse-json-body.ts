import { fail } from "@inference/protocol/errors";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  createJsonScan,
  isStructure,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  stringEnd,
} from "./json-scan.ts";

/** Enough for any tool's schema. A limit is needed because bodies are written by recursion. */
export const MAX_DEPTH = 32;
/** Lists, objects and the values in them. Validating this many takes a few milliseconds. */
export const MAX_VALUES = 16_384;

/**
 * Parses the body of a request, which must be an object. A duplicate key is refused, because parsers differ on which
 * value counts. The form is checked before anything is parsed, so a body of a million values costs little.
 */
export function parseJsonBody(bytes: Uint8Array): JsonObject {
  const keys = countKeys(bytes);
  const body = parse(decode(bytes));
  if (!isJsonObject(body)) fail("invalid_request", 'The body must be a JSON object, like {"model": "..."}.');
  if (checkNumbers(body, "") < keys) refuseDuplicate(bytes);
  return body;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("invalid_request", "The body is not valid UTF-8.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : "unreadable";
    return fail("invalid_request", `The body is not valid JSON: ${why}. Send one JSON object, encoded as UTF-8.`);
  }
}

/** Counts the keys of all objects. Refuses bytes that are nested too deeply or have too many values. */
function countKeys(bytes: Uint8Array): number {
  let keys = 0;
  let values = 1;
  let depth = 0;
  for (let at = nextStructure(bytes, 0); at < bytes.length; at = nextStructure(bytes, at + 1)) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) at = stringEnd(bytes, at + 1);
    else if (byte === COMMA) values++;
    else if (byte === COLON) keys++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    else {
      values++;
      depth++;
    }
    if (depth > MAX_DEPTH) fail("invalid_request", `The body is nested deeper than ${MAX_DEPTH} levels.`);
    if (values > MAX_VALUES) {
      fail("invalid_request", `The body has more than ${MAX_VALUES} values. Send fewer, or longer texts.`);
    }
  }
  return keys;
}

/** White space and numbers are passed in a loop without branches, which costs a quarter of a branch for each byte. */
function nextStructure(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isStructure[bytes[at] as number] === 0) at++;
  return at;
}

/**
 * Counts the keys of all objects: fewer than were written if one was written twice. Refuses numbers that are parsed as
 * infinity, because they would be written as null.
 */
function checkNumbers(value: unknown, key: string): number {
  if (typeof value === "number" && !Number.isFinite(value)) {
    const param = key.slice(0, 64);
    fail("invalid_request", `\`${param}\` is too large to be a number. Send one that a double can hold.`, { param });
  }
  if (typeof value !== "object" || value === null) return 0;
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += checkNumbers(item, key);
  else for (const name in value) keys += 1 + checkNumbers((value as JsonObject)[name], name);
  return keys;
}

/** Names the first key that is twice in one object of a JSON text that has one. */
function refuseDuplicate(bytes: Uint8Array): never {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const scan = createJsonScan();
  /** The keys of each open object; null for an open list. */
  const open: (Set<string> | null)[] = [];
  let from = 0;
  for (let at = scan.next(bytes, 0); ; at = scan.next(bytes, from)) {
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open.push(byte === OPEN_OBJECT ? new Set() : null);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) open.pop();
    else if (byte === COLON) {
      const key: string = JSON.parse(text.toString("utf8", from, at));
      const keys = open.at(-1);
      if (keys?.has(key)) {
        const param = key.slice(0, 64);
        fail("invalid_request", `The key \`${param}\` is in the same object twice. Send it once.`, { param });
      }
      keys?.add(key);
    }
    from = at + 1;
  }
}
