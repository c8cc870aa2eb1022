import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** The responses in progress: from a request's head until the last byte was sent or the connection closed. */
export type Responses = {
  /** How many this connection has: one, and those of the requests that wait behind it. */
  on(socket: Duplex): number;
  /**
   * Closes each connection after its present response, so that keep-alive does not delay a stop. The client is told in
   * the response's headers or, if they were sent already, by the end of the connection.
   */
  leave(): void;
};

type ReaderLimits = {
  /** How long a client may read too slowly before its connection is closed. */
  stalledReaderMs: number;
  /** The rate over that time below which a client with waiting bytes is too slow. */
  slowestReaderBytesPerS: number;
};

type Connection = {
  responses: Set<ServerResponse>;
  /** When the measurement began, and the bytes that were read by then; null while no bytes wait. */
  measured: { sinceMs: number; takenBytes: number } | null;
};

/**
 * Watches all connections of a server with one timer, and closes those whose client reads too slowly. When a connection
 * closes, it also destroys queued responses, which then emit `close`: Node does so with the current one only.
 */
export function watchResponses(server: Server, limits: ReaderLimits): Responses {
  const connections = new Map<Duplex, Connection>();
  let underWay = 0;
  let leaving = false;

  function closeIdle(): void {
    // A connection without a request is not idle for the server, and would delay the stop.
    if (underWay === 0) server.closeAllConnections();
    else server.closeIdleConnections();
  }

  server.on("connection", (socket: Socket) => {
    const connection: Connection = { responses: new Set(), measured: null };
    connections.set(socket, connection);
    socket.on("end", () => {
      for (const response of connection.responses) if (response.socket === socket) readerEnded(response);
    });
    socket.on("close", () => {
      connections.delete(socket);
      for (const response of connection.responses) {
        // It was queued behind another response.
        if (response.socket === null) response.destroy();
      }
    });
  });

  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (socket.destroyed) return;
    if (leaving) response.shouldKeepAlive = false;
    const responses = connections.get(socket)?.responses;
    responses?.add(response);
    underWay += 1;
    // Once: a queued response that breaks off emits it then, and again when it gets its connection.
    response.once("close", () => {
      underWay -= 1;
      responses?.delete(response);
      if (leaving) setImmediate(closeIdle);
    });
  });

  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const [socket, connection] of connections) closeIfStalled(socket as Socket, connection, limits, now);
    },
    Math.min(1_000, limits.stalledReaderMs / 4),
  );
  timer.unref();
  server.on("close", () => clearInterval(timer));

  return {
    on: (socket) => connections.get(socket)?.responses.size ?? 0,
    leave() {
      leaving = true;
      for (const { responses } of connections.values()) {
        for (const response of responses) if (!response.headersSent) response.shouldKeepAlive = false;
      }
      closeIdle();
    },
  };
}

function closeIfStalled(socket: Socket, connection: Connection, limits: ReaderLimits, now: number): void {
  // A connection that the gateway has ended waits until the client closes its side, which counts as reading.
  if (socket.writableLength === 0 && !socket.writableEnded) {
    connection.measured = null;
    return;
  }
  const takenBytes = taken(socket);
  const { stalledReaderMs, slowestReaderBytesPerS } = limits;
  const enough = (slowestReaderBytesPerS * stalledReaderMs) / 1_000;
  if (connection.measured === null || takenBytes - connection.measured.takenBytes >= enough) {
    connection.measured = { sinceMs: now, takenBytes };
  } else if (now - connection.measured.sinceMs >= stalledReaderMs) {
    // A reset, because the operating system would keep the unread bytes for minutes.
    socket.resetAndDestroy();
  }
}

/**
 * The bytes that the operating system has accepted. The socket's `bytesWritten` includes waiting bytes, and a chunk may
 * be a whole answer. Only the handle knows what is left of a chunk. Node's timeouts read it too.
 */
function taken(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/**
 * Handles a client that has closed its side. It may wait for the answer, or may be gone, which looks the same. During a
 * stream it counts as gone. Before the answer begins it is probed.
 */
function readerEnded(response: ServerResponse): void {
  const { req, socket, headersSent, writableEnded } = response;
  if (writableEnded) return;
  // HTTP/1.0 has no informational responses to probe with.
  if (headersSent || req.httpVersion === "1.0") socket?.end();
  else probe(response, 0);
}

/**
 * Sends informational responses, which HTTP/1.1 clients must skip. A few clients take one for the answer, such as
 * Python's `http.client`, so only a client that has closed its side gets them. A client that is gone answers the first
 * with a reset, and the next write then fails. Without probes it would be served and charged.
 */
function probe(response: ServerResponse, sent: number): void {
  const wait = PROBES_AFTER_MS[sent];
  if (wait === undefined || response.headersSent || response.socket === null || response.socket.destroyed) return;
  response.writeProcessing();
  setTimeout(probe, wait, response, sent + 1).unref();
}

/** The times between probes. Some clients accept at most five informational responses. */
const PROBES_AFTER_MS = [50, 500, 3_000, 0];
