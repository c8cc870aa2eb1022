import { Readable, type Transform } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { createBrotliDecompress, createGunzip, createZstdDecompress } from "node:zlib";
import { fail } from "@inference/protocol/errors";

/** The encodings of a body, by their names in `Content-Encoding`. */
const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/**
 * A body without its encoding, read as it is needed: what is not read is not decoded, so that a small body that decodes
 * to a large one takes no more memory than another. Reading fails with 400 if the bytes are not in the encoding.
 */
export function decodeBody(body: ReadableStream<Uint8Array>, encoding: string): ReadableStream<Uint8Array> {
  const decoder = makeDecoder(encoding);
  const source = Readable.fromWeb(body as NodeStream<Uint8Array>);
  source.on("error", (error) => decoder.destroy(error));
  const chunks: AsyncIterator<Uint8Array> = source.pipe(decoder)[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next().catch(() => notEncoded(encoding));
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        source.destroy();
        decoder.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function makeDecoder(encoding: string): Transform {
  const make = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  return make?.() ?? fail("unsupported_media_type", "`Content-Encoding` can be gzip, br or zstd. Or leave it out.");
}

function notEncoded(encoding: string): never {
  return fail("invalid_request", `The body is not whole ${encoding}, as its \`Content-Encoding\` says.`);
}
