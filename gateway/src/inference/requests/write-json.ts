import { limits } from "../../config.ts";
import type { LongTexts } from "./long-text.ts";

/** What is sent to the provider: text, or bytes in blocks where it is large. */
export type WrittenBody = string | readonly Uint8Array[];

/** So much is written in one piece of work, in bytes; a value counts as some of them. */
const PIECE_WORK = 128 * 1024;
const VALUE_WORK = 64;

/**
 * Writes a parsed body as JSON, in pieces, with its long texts as they came: what `JSON.stringify` would write of the
 * body that was parsed whole, or the same strings with more escapes, never fewer bytes.
 *
 * @param keysOf In which order an object's keys are written.
 */
export function* writeJson(
  value: unknown,
  texts: LongTexts,
  write: (part: string | Uint8Array) => void,
  keysOf: (object: object) => string[] = Object.keys,
): Generator<void, void> {
  let work = 0;
  function* writeString(text: string): Generator<void, void> {
    const long = texts.get(text);
    if (long === undefined) {
      work += text.length;
      write(JSON.stringify(text));
      return;
    }
    write('"');
    for (const slice of long.slices) {
      work += slice.length;
      write(slice);
      if (work >= PIECE_WORK) yield* endPiece();
    }
    write('"');
  }
  function* endPiece(): Generator<void, void> {
    work = 0;
    yield;
  }
  function* writeValue(value: unknown): Generator<void, void> {
    work += VALUE_WORK;
    if (work >= PIECE_WORK) yield* endPiece();
    if (typeof value === "string") yield* writeString(value);
    else if (Array.isArray(value)) {
      write("[");
      for (const [index, item] of value.entries()) {
        if (index > 0) write(",");
        yield* writeValue(item);
      }
      write("]");
    } else if (typeof value === "object" && value !== null) {
      let separator = "{";
      for (const key of keysOf(value)) {
        const field = (value as Record<string, unknown>)[key];
        if (field === undefined) continue;
        work += key.length;
        write(`${separator}${JSON.stringify(key)}:`);
        separator = ",";
        yield* writeValue(field);
      }
      write(separator === "{" ? "{}" : "}");
    } else write(JSON.stringify(value));
  }
  yield* writeValue(value);
}

/** A body to send, and its size: at once where it was parsed whole, else in pieces. */
export function* writeBody(
  fields: object,
  texts: LongTexts | null,
): Generator<void, { upstreamBody: WrittenBody; bytes: number }> {
  if (texts === null) {
    const upstreamBody = JSON.stringify(fields);
    return { upstreamBody, bytes: Buffer.byteLength(upstreamBody) };
  }
  const blocks = makeBlocks();
  yield* writeJson(fields, texts, blocks.append);
  const upstreamBody = blocks.end();
  return { upstreamBody, bytes: bytesOf(upstreamBody) };
}

export function bytesOf(body: WrittenBody): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.reduce((sum, block) => sum + block.length, 0);
}

/**
 * Gathers what comes in small parts in blocks: each part would take memory of its own. A part of at least half a block
 * is not copied.
 */
export type Blocks = {
  append(part: string | Uint8Array): void;
  /** All that was appended, in order. */
  end(): Uint8Array[];
};

export function makeBlocks(): Blocks {
  const full: Uint8Array[] = [];
  let block = new Uint8Array(0);
  let length = 0;
  let total = 0;
  function append(part: string | Uint8Array): void {
    let rest: Uint8Array = typeof part === "string" ? Buffer.from(part) : part;
    if (rest.length >= limits.bodyBlockBytes / 2) {
      endBlock();
      full.push(rest);
      total += rest.length;
      return;
    }
    while (rest.length > 0) {
      if (length === block.length) {
        endBlock();
        // A small body takes no more than it needs, or twice that.
        block = new Uint8Array(Math.min(limits.bodyBlockBytes, Math.max(total, rest.length, 1024)));
      }
      const fits = rest.subarray(0, block.length - length);
      block.set(fits, length);
      length += fits.length;
      rest = rest.subarray(fits.length);
    }
  }

  function endBlock(): void {
    if (length > 0) full.push(length === block.length ? block : block.slice(0, length));
    total += length;
    block = new Uint8Array(0);
    length = 0;
  }

  return {
    append,
    end() {
      endBlock();
      return full;
    },
  };
}
