import { joinBytes } from "../../join-bytes.ts";
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

  return {
    push(bytes) {
      const isLong = held.length >= longestBytes && bytes.length >= longestBytes;
      const seam = isLong ? joinBytes([held.subarray(-longestBytes), bytes.subarray(0, longestBytes)]) : bytes;
      if (isLong && !secrets.mayBeIn(seam) && !secrets.mayBeIn(bytes)) {
        // Copying a large chunk costs more than the search does.
        const passed = held;
        held = bytes;
        return passed;
      }
      const cleaned = clean(held.length === 0 ? bytes : joinBytes([held, bytes]));
      const passed = Math.max(0, cleaned.length - 2 * longestBytes);
      held = cleaned.subarray(passed);
      return cleaned.subarray(0, passed);
    },
    end: () => held,
  };
}
