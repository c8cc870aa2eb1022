import type { IncomingMessage } from "node:http";
import { PAYLOAD_TOO_LARGE, WireError } from "./errors.ts";
import { MAX_JSON_BYTES } from "./wire.ts";

/** The whole body. Rejects when it is too large, and resolves null when the client left before its end. */
export function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_JSON_BYTES) {
        request.removeAllListeners("data");
        request.resume();
        reject(new WireError(PAYLOAD_TOO_LARGE));
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("close", () => resolve(null));
    request.on("error", () => resolve(null));
  });
}
