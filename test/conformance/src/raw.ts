import { type Agent, request } from "node:http";
import type { Exchange } from "./exchange.ts";

type RawRequest = {
  method: string;
  /** Sent without normalization. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
  agent?: Agent;
};

/** Sends one request without normalization. */
export function sendRaw(url: string, { method, path, headers = {}, body, agent }: RawRequest): Promise<Exchange> {
  const { hostname, port } = new URL(url);
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: { ...length, ...headers }, ...(agent && { agent }) };
    const outgoing = request(options, (incoming) => {
      const chunks: Uint8Array[] = [];
      incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("close", () => {
        const pairs = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        );
        resolve({
          method,
          path,
          status: incoming.statusCode ?? 0,
          headers: new Headers(pairs),
          body: Buffer.concat(chunks),
          whole: incoming.complete,
        });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** The code of an error's body, or undefined. */
export function codeOf({ body }: Exchange): string | undefined {
  try {
    return (JSON.parse(Buffer.from(body).toString()) as { error?: { code?: string } }).error?.code;
  } catch {
    return undefined;
  }
}
