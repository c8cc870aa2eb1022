import { gzipSync } from "node:zlib";

/** Compresses a text that is sent many times. */
export function gzip(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(text, { level: 9 }));
}
