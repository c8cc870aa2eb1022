import type { Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from "node:zlib";
import { fail } from "@inference/protocol/errors";

/** A `Content-Encoding`: its decoder, and its name in errors. */
export type Encoding = { makeDecoder(): Transform & { readonly bytesWritten: number }; name: string };

const gzip: Encoding = { makeDecoder: createGunzip, name: "gzip" };
/** RFC 9659 allows no larger window in HTTP. A decoder takes the memory of its window at once. */
const zstdParams = { [constants.ZSTD_d_windowLogMax]: 23 };
const encodings: ReadonlyMap<string, Encoding> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["br", { makeDecoder: createBrotliDecompress, name: "br" }],
  ["zstd", { makeDecoder: () => createZstdDecompress({ params: zstdParams }), name: "zstd" }],
]);

/** Finds an encoding by its name in `Content-Encoding`. Throws 415 for an unknown one. */
export function requireEncoding(name: string): Encoding {
  return (
    encodings.get(name) ??
    fail("unsupported_media_type", "`Content-Encoding` can be gzip, br or zstd. Or leave it out.")
  );
}

/**
 * Decodes a body that has arrived whole, part by part as the caller asks for more: a small body that decodes to a large
 * one takes no more memory than the caller accepts. `bytesLeft` counts the encoded bytes that are not decoded yet.
 * Throws 400 for bytes that are not the encoding, and for bytes after its end.
 */
export async function* decodeBody(
  { makeDecoder, name }: Encoding,
  blocks: readonly Uint8Array[],
): AsyncGenerator<{ part: Uint8Array; bytesLeft: number }> {
  const length = blocks.reduce((sum, block) => sum + block.length, 0);
  const decoder = makeDecoder();
  // The iteration stops listening at the end of the text, and the decoder may fail after it.
  decoder.on("error", () => undefined);
  for (const block of blocks) decoder.write(block);
  decoder.end();
  try {
    for await (const part of decoder) yield { part, bytesLeft: length - decoder.bytesWritten };
  } catch {
    fail("invalid_request", `The body is not complete ${name} data${name === "zstd" ? WINDOW : ""}.`);
  }
  const bytesLeft = length - decoder.bytesWritten;
  if (bytesLeft > 0) {
    fail("invalid_request", `${bytesLeft} bytes follow the end of the ${name} data. Remove them.`);
  }
}

const WINDOW = " with a window of at most 8 MiB";
