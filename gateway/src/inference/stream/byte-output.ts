import { joinBytes } from "../../join-bytes.ts";

/** Gathers the output of one chunk. Bytes that follow one another in the same array are not copied. */
export type ByteOutput = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Returns what was gathered, and empties the output; undefined if nothing was. */
  take(): Uint8Array | undefined;
};

export function createByteOutput(): ByteOutput {
  let parts: Uint8Array[] = [];
  let run: Uint8Array | undefined;
  let runStart = 0;
  let runEnd = 0;

  function endRun(): Uint8Array | undefined {
    const bytes = run;
    run = undefined;
    if (bytes === undefined) return undefined;
    return runStart === 0 && runEnd === bytes.length ? bytes : bytes.subarray(runStart, runEnd);
  }

  return {
    add(bytes, start, end) {
      if (start >= end) return;
      if (run === bytes && runEnd === start) {
        runEnd = end;
        return;
      }
      const part = endRun();
      if (part !== undefined) parts.push(part);
      run = bytes;
      runStart = start;
      runEnd = end;
    },
    take() {
      const last = endRun();
      if (parts.length === 0) return last;
      if (last !== undefined) parts.push(last);
      const whole = joinBytes(parts);
      parts = [];
      return whole;
    },
  };
}
