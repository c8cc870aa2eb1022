import { createByteBuffer } from "./byte-buffer.ts";

/** Gathers the bytes of one value over chunks, up to a limit. Copies nothing where a value lies in one chunk. */
export type HeldValue = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Its text, and begins anew; undefined if it was larger than the limit. */
  take(): string | undefined;
};

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export function createHeldValue(maxBytes: number): HeldValue {
  const buffer = createByteBuffer();
  let last: Uint8Array | undefined;
  let length = 0;
  return {
    add(bytes, start, end) {
      length += end - start;
      if (length > maxBytes) {
        last = undefined;
        return;
      }
      if (last !== undefined) buffer.append(last, 0, last.length);
      last = bytes.subarray(start, end);
    },
    take() {
      const isWhole = length <= maxBytes;
      const rest = last ?? new Uint8Array();
      length = 0;
      last = undefined;
      if (buffer.length === 0) return isWhole ? utf8.decode(rest) : undefined;
      buffer.append(rest, 0, rest.length);
      const bytes = buffer.take();
      return isWhole ? utf8.decode(bytes) : undefined;
    },
  };
}
