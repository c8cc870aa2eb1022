import { createByteBuffer } from "./byte-buffer.ts";

/** Gathers the bytes of one value over chunks, up to a limit. */
export type HeldValue = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Its text, and begins anew; undefined if it was larger than the limit. */
  take(): string | undefined;
};

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export function createHeldValue(maxBytes: number): HeldValue {
  const buffer = createByteBuffer();
  let length = 0;
  return {
    add(bytes, start, end) {
      length += end - start;
      if (length <= maxBytes) buffer.append(bytes, start, end);
    },
    take() {
      const isWhole = length <= maxBytes;
      const bytes = buffer.take();
      length = 0;
      return isWhole ? utf8.decode(bytes) : undefined;
    },
  };
}
