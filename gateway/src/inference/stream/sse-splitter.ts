const LF = 10;
const CR = 13;
const COLON = 58;

/**
 * Cuts a stream of bytes into segments: an event with the blank line that ends it, or a comment line outside of an
 * event, so that keep-alive comments pass at once. Lines end with LF, CRLF or CR. The segments do not depend on how the
 * bytes are cut into chunks.
 */
export type SseSplitter = {
  /**
   * Whether the chunk's first byte completes the CRLF that ended the previous segment. Call it at each chunk's start.
   */
  completesLineEnd(chunk: Uint8Array): boolean;
  /** The place after the segment that is open at `from`; -1 if the chunk ends before it does. */
  next(chunk: Uint8Array, from: number): number;
};

export function createSseSplitter(): SseSplitter {
  let lineEmpty = true;
  let comment = false;
  /** The segment has a line that is not a comment. */
  let fields = false;
  /** The last byte was a CR at the end of a chunk: an LF would belong to it. */
  let lfMayFollow = false;

  function lineEnds(): boolean {
    const segmentEnds = lineEmpty || (comment && !fields);
    fields = !segmentEnds && (fields || !comment);
    lineEmpty = true;
    comment = false;
    return segmentEnds;
  }

  return {
    completesLineEnd(chunk) {
      if (!lfMayFollow || fields || chunk[0] !== LF) return false;
      lfMayFollow = false;
      return true;
    },
    next(chunk, from) {
      const { length } = chunk;
      for (let at = from; at < length; at++) {
        const byte = chunk[at] as number;
        if (byte === LF && lfMayFollow) {
          lfMayFollow = false;
        } else if (byte === LF) {
          if (lineEnds()) return at + 1;
        } else if (byte === CR) {
          if (chunk[at + 1] === LF) at++;
          lfMayFollow = at + 1 === length && chunk[at] === CR;
          if (lineEnds()) return at + 1;
        } else {
          if (lineEmpty) comment = byte === COLON;
          lineEmpty = false;
          lfMayFollow = false;
          // Skips the rest of the line.
          while (at + 1 < length && (chunk[at + 1] as number) > CR) at++;
        }
      }
      return -1;
    },
  };
}
