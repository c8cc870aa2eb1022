import { limits } from "../../config.ts";
import { type LongTexts, STAND_IN_PART } from "./long-text.ts";

/** A body for the provider: text, or blocks of bytes if it is large. */
export type WrittenBody = string | readonly Uint8Array[];

/** The bytes that are written in one piece of work. */
const PIECE_BYTES = 128 * 1024;

/**
 * Writes JSON in pieces, with the long texts, as they came, in place of their stand-ins. The result is what
 * `JSON.stringify` would write, except that the long texts may have more escapes.
 */
export function* writeLongTexts(
  json: string,
  texts: LongTexts,
  write: (part: string | Uint8Array) => void,
): Generator<void, void> {
  let from = 0;
  let unyielded = 0;
  for (let end = 0, at = json.indexOf(STAND_IN_PART); at !== -1; at = json.indexOf(STAND_IN_PART, end)) {
    const start = json.lastIndexOf('"', at) + 1;
    end = json.indexOf('"', at);
    // A key may be the same as a stand-in.
    const long = json[end + 1] === ":" ? undefined : texts.get(json.slice(start, end));
    if (long === undefined) continue;
    write(json.slice(from, start));
    for (const slice of long.slices) {
      write(slice);
      unyielded += slice.length;
      if (unyielded < PIECE_BYTES) continue;
      unyielded = 0;
      yield;
    }
    from = end;
  }
  write(json.slice(from));
}

/** Writes a body to send: at once if it was parsed whole, else in pieces. */
export function* writeBody(
  fields: object,
  texts: LongTexts | null,
): Generator<void, { upstreamBody: WrittenBody; bytes: number }> {
  if (texts !== null) yield;
  const json = JSON.stringify(fields);
  if (texts === null) return { upstreamBody: json, bytes: Buffer.byteLength(json) };
  yield;
  const blocks = makeBlocks();
  yield* writeLongTexts(json, texts, blocks.append);
  const upstreamBody = blocks.end();
  return { upstreamBody, bytes: bytesOf(upstreamBody) };
}

export function bytesOf(body: WrittenBody): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.reduce((sum, block) => sum + block.length, 0);
}

/** Copies small parts into blocks, because each part takes memory of its own. Parts of half a block are not copied. */
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
        // A small body takes at most twice what it needs.
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
