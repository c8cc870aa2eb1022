/** Bytes that are held until the rest arrives. The buffer doubles, so that many small chunks cost no more than one. */
export type ByteBuffer = {
  readonly length: number;
  append(bytes: Uint8Array, start: number, end: number): void;
  /** Returns a copy of all that was appended, and empties the buffer. */
  take(): Uint8Array;
};

export function createByteBuffer(): ByteBuffer {
  let buffer = new Uint8Array(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    append(bytes, start, end) {
      if (start === end) return;
      const needed = length + end - start;
      if (needed > buffer.length) {
        const larger = new Uint8Array(Math.max(needed, 2 * buffer.length, 1024));
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      if (end - start === 1) buffer[length] = bytes[start] as number;
      else buffer.set(bytes.subarray(start, end), length);
      length = needed;
    },
    take() {
      const bytes = buffer.slice(0, length);
      length = 0;
      return bytes;
    },
  };
}
