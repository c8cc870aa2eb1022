import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

/** One answer, byte for byte. */
export type WireAnswer = {
  status: number;
  statusMessage: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  bytes: Buffer;
  text: string;
  /** The answer ended as HTTP says it should. */
  whole: boolean;
};

export type WireRequest = {
  method?: string;
  /** The request's exact text. */
  path: string;
  headers?: OutgoingHttpHeaders | readonly string[];
  body?: string | Uint8Array;
  /** Sends the body in chunks, without a content-length. */
  chunked?: boolean;
};

/** A chat request's bytes, for a connection that the test has in hand. */
export function chatRequestBytes(key: string, content: object): string {
  const body = JSON.stringify(content);
  const headers = { host: "a", authorization: `Bearer ${key}`, "content-type": "application/json" };
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(body) });
  const head = lines.map((line) => line.join(": ")).join("\r\n");
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`;
}

/** Sends a request's exact text on a connection of its own. */
export function sendHttp(url: string, sent: WireRequest): Promise<WireAnswer> {
  const { hostname, port, host } = new URL(url);
  const { method = sent.body === undefined ? "GET" : "POST", path, body, chunked = false } = sent;
  const headers: OutgoingHttpHeaders | readonly string[] = Array.isArray(sent.headers)
    ? ["host", host, ...framing(body, chunked), ...sent.headers]
    : { ...Object.fromEntries(pairs(framing(body, chunked))), ...(sent.headers as OutgoingHttpHeaders | undefined) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", () => undefined);
      incoming.on("close", () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: incoming.statusCode ?? 0,
          statusMessage: incoming.statusMessage ?? "",
          headers: incoming.headers,
          rawHeaders: incoming.rawHeaders,
          bytes,
          text: bytes.toString(),
          whole: incoming.complete,
        });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function framing(body: string | Uint8Array | undefined, chunked: boolean): string[] {
  if (body === undefined) return [];
  return chunked ? ["transfer-encoding", "chunked"] : ["content-length", String(Buffer.byteLength(body))];
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) found.push([flat[index] ?? "", flat[index + 1] ?? ""]);
  return found;
}

/** Sends these bytes and answers with all that comes back until the connection closes. */
export function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}
