import { deflateRawSync, inflateRawSync } from "node:zlib";

/**
 * Text that is kept for long: `z`, and base64 of raw DEFLATE. A receipt of 613 bytes takes 87, among others of its
 * segment. It stays text, so that whatever copies a database as text copies it too.
 */
export function pack(text: string): string {
  return PACKED + deflateRawSync(text).toString("base64");
}

/** JSON that is not packed, as it is. */
export function unpack(stored: unknown): string {
  const text = String(stored);
  return text.startsWith(PACKED) ? String(inflateRawSync(Buffer.from(text.slice(1), "base64"))) : text;
}

const PACKED = "z";
