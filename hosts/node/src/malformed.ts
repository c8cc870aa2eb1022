import { randomBytes } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RequestError } from "@hono/node-server";
import { type Malformed, malformed } from "@inference/gateway/http/malformed";
import type { ErrorCode } from "@inference/protocol/errors";
import { makeRequestId } from "@inference/protocol/id";

/** The error response for input that is no HTTP request, or has no usable address. */
export function malformedResponse(error: unknown): Response {
  const { status, headers, body } =
    error instanceof RequestError
      ? refused("invalid_request", `The request cannot be read: ${error.message}.`)
      : refused("internal_error", "Something went wrong here.");
  return new Response(body, { status, headers });
}

/** The same on a socket, which is closed after it. */
export function endMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const { status, headers, body } = malformedBytes(error.code);
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(body), connection: "close" });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function malformedBytes(code: string | undefined): Malformed {
  if (code === "HPE_HEADER_OVERFLOW") return refused("request_too_large", "The request's headers are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return refused("request_timeout", "The request did not arrive in time: send it again.");
  }
  return refused("invalid_request", "This is not an HTTP request that can be read.");
}

function refused(code: ErrorCode, message: string): Malformed {
  return malformed(makeRequestId(Date.now(), randomBytes(10)), code, message);
}
