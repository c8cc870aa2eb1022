import { joinBytes } from "../../bytes.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";

/**
 * Removes our keys from bytes on their way to a client. The last bytes wait for the next ones, because they may be the
 * beginning of a key.
 */
type SecretRemover = {
  /** Returns the bytes that may leave now. */
  push(bytes: Uint8Array): Uint8Array;
  /** Returns the bytes that waited. */
  end(): Uint8Array;
};

export function makeSecretRemover(secrets: SecretFilter): SecretRemover {
  let held: Uint8Array = new Uint8Array(0);

  function clean(bytes: Uint8Array): Uint8Array {
    if (!secrets.mayBeIn(bytes)) return bytes;
    // One character for each byte: keys are of ASCII, and other bytes stay as they are.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    return Buffer.from(secrets.remove(text), "latin1");
  }

  const { longestBytes } = secrets;
  /** A key may begin in the last bytes of what is held. */
  const openBytes = 2 * longestBytes;

  function isClean(bytes: Uint8Array): boolean {
    const seam = joinBytes([held.subarray(-longestBytes), bytes.subarray(0, longestBytes)]);
    return !secrets.mayBeIn(seam) && !secrets.mayBeIn(bytes);
  }

  return {
    push(bytes) {
      // Copying a large chunk costs more than the search does.
      if (bytes.length >= longestBytes && isClean(bytes)) {
        const passed = held;
        held = bytes;
        return passed;
      }
      const from = bytes.length < longestBytes ? Math.max(0, held.length - openBytes) : 0;
      const before = held.subarray(0, from);
      const cleaned = clean(joinBytes([held.subarray(from), bytes]));
      if (from > 0) {
        held = cleaned;
        return before;
      }
      const passed = Math.max(0, cleaned.length - openBytes);
      held = cleaned.subarray(passed);
      return cleaned.subarray(0, passed);
    },
    end: () => held,
  };
}
