import type { SecretFilter } from "../../upstream/secret-writings.ts";
import { type ByteOutput, createByteOutput } from "./byte-output.ts";

/**
 * Removes our keys from the bytes of a content list on their way to `output`. It holds back as many bytes as the
 * beginning of a key may have, so that a key is found wherever the bytes are cut. Its memory is constant.
 */
export type ListFilter = {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Writes what may leave of the bytes that were added. Call it once for each chunk. */
  flush(): void;
  /** Writes all of it: no more bytes belong to the list. */
  end(): void;
};

export function createListFilter(secrets: SecretFilter, output: ByteOutput): ListFilter {
  const added = createByteOutput();
  let held = new Uint8Array(0);

  function write(keepBytes: number): void {
    const bytes = added.take() ?? new Uint8Array(0);
    // One character for each byte: keys are of ASCII, and other bytes stay as they are.
    const text = latin1(held) + latin1(bytes);
    const clean = secrets.remove(text);
    if (clean !== text) {
      pass(Buffer.from(clean, "latin1"), keepBytes);
    } else if (held.length > 0 && bytes.length < keepBytes) {
      pass(Buffer.concat([held, bytes]), keepBytes);
    } else {
      output.add(held, 0, held.length);
      pass(bytes, keepBytes);
    }
  }

  function pass(bytes: Uint8Array, keepBytes: number): void {
    const kept = Math.max(0, bytes.length - keepBytes);
    output.add(bytes, 0, kept);
    held = bytes.slice(kept);
  }

  return {
    add: added.add,
    flush: () => write(secrets.longestBytes),
    end: () => write(0),
  };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
