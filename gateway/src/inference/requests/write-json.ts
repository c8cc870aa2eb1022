import { limits } from "../../config.ts";
import { type LongTexts, STAND_IN_PART } from "./long-text.ts";

/** What is sent to the provider: text, or bytes in blocks where it is large. */
export type WrittenBody = string | readonly Uint8Array[];

/** So many bytes are written in one piece of work. */
const PIECE_BYTES = 128 * 1024;

/**
 * Writes JSON in pieces, with its long texts as they came in place of what stands in for them: what `JSON.stringify`
 * would write of the body that was parsed whole, or the same strings with more escapes, never fewer bytes.
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
    // A key may be the same.
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

/** A body to send, and its size: at once where it was parsed whole, else in pieces. */
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
