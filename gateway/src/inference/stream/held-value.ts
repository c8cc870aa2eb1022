import { createByteBuffer } from "./byte-buffer.ts";

/** Gathers the bytes of one value from several chunks, up to a limit. */
export type HeldValue = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Returns the value's text, undefined if it is above the limit, and begins the next one. */
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
