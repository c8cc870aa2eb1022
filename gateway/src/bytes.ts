/** Joins chunks into one array. A single chunk is not copied. */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/** Bytes that are held until the rest arrives. The buffer doubles, so many small chunks cost as much as one. */
export type ByteBuffer = {
  readonly length: number;
  append(bytes: Uint8Array, start: number, end: number): void;
  /** Returns a copy of the appended bytes, and empties the buffer. */
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
