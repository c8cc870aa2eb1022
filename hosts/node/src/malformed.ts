import { randomBytes } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RequestError } from "@hono/node-server";
import { commonHeaders } from "@inference/gateway/http/every-request";
import { type ErrorCode, errorBody, errorHeaders, errorTable } from "@inference/protocol/errors";
import { makeRequestId } from "@inference/protocol/id";

/**
 * Answers to what never becomes a request, because it is not HTTP or has no usable address: errors as all others are.
 */
export function malformedResponse(error: unknown): Response {
  const { status, headers, body } =
    error instanceof RequestError
      ? malformed("invalid_request", `The request cannot be read: ${error.message}.`)
      : malformed("internal_error", "Something went wrong here. Nothing was charged.");
  return new Response(body, { status, headers });
}

/** The same where there is only a socket, which is closed after it. */
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

type Malformed = { status: number; headers: Record<string, string>; body: string };

function malformedBytes(code: string | undefined): Malformed {
  if (code === "HPE_HEADER_OVERFLOW") return malformed("request_too_large", "The request's headers are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return malformed("request_timeout", "The request did not arrive in time: send it again.");
  }
  return malformed("invalid_request", "This is not an HTTP request that can be read.");
}

function malformed(code: ErrorCode, message: string): Malformed {
  const headers = {
    "content-type": "application/json",
    ...commonHeaders(makeRequestId(Date.now(), randomBytes(10))),
    ...errorHeaders({ code, message }),
  };
  return { status: errorTable[code].status, headers, body: JSON.stringify(errorBody({ code, message })) };
}
