import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from "node:zlib";
import { fail } from "@inference/protocol/errors";

/** A `Content-Encoding`: its name in errors, and its decoder. */
export type Encoding = { name: string; decode(bytes: Uint8Array, options: DecodeOptions): unknown };

type DecodeOptions = { maxOutputLength: number; info: true };

const gzip: Encoding = { name: "gzip", decode: gunzipSync };
/** RFC 9659 allows no larger window in HTTP. A decoder takes the memory of its window at once. */
const params = { [constants.ZSTD_d_windowLogMax]: 23 };
const zstd: Encoding = { name: "zstd", decode: (bytes, options) => zstdDecompressSync(bytes, { ...options, params }) };
const encodings: ReadonlyMap<string, Encoding> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["br", { name: "br", decode: brotliDecompressSync }],
  ["zstd", zstd],
]);

/** Finds an encoding by its name in `Content-Encoding`. Throws 415 for an unknown one. */
export function requireEncoding(name: string): Encoding {
  return (
    encodings.get(name) ??
    fail("unsupported_media_type", "`Content-Encoding` can be gzip, br or zstd. Or leave it out.")
  );
}

/**
 * Decodes a body that has arrived whole. Throws 400 for bytes that are not the encoding, and for bytes after its end.
 *
 * @returns Undefined if the text has more than `maxBytes`. Decoding takes no more memory than `maxBytes`.
 */
export function decodeBody({ name, decode }: Encoding, bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
  let decoded: { buffer: Uint8Array; engine: { bytesWritten: number } };
  try {
    // With `info` the decoder also tells how many bytes it took. Node's types lack `info`.
    decoded = decode(bytes, { maxOutputLength: maxBytes, info: true }) as typeof decoded;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    return fail("invalid_request", `The body is not complete ${name} data${name === "zstd" ? WINDOW : ""}.`);
  }
  const bytesLeft = bytes.length - decoded.engine.bytesWritten;
  if (bytesLeft > 0) fail("invalid_request", `${bytesLeft} bytes follow the end of the ${name} data. Remove them.`);
  return decoded.buffer;
}

const WINDOW = ", in one frame with a window of at most 8 MiB";
