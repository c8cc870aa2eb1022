import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** The responses that are under way: from a request's head until the last byte was sent or the connection closed. */
export type Responses = {
  /** Whether one is on this connection. */
  isOn(socket: Duplex): boolean;
  /**
   * Once called, a connection ends with the response it is at, so that a client that keeps its connection does not keep
   * the gateway: it is told so in the response's headers or, where they have left already, by the connection's end.
   */
  leave(): void;
};

export type ReaderLimits = {
  /** How long a reader may take too little of what waits for it before its connection is closed. */
  stalledReaderMs: number;
  /** What is too little: less than so many bytes a second over that time, and less than all. */
  slowestReaderBytesPerS: number;
};

type Connection = {
  responses: Set<ServerResponse>;
  /** Since when its reader has been measured, and what it had taken by then; null while nothing waits for it. */
  measured: { sinceMs: number; takenBytes: number } | null;
};

/**
 * Watches every connection of a server. Closes those whose reader stands still or is too slow, whatever they are sent:
 * one timer looks at all of them. Tells queued responses of a connection's end, which Node tells the current one alone.
 */
export function watchResponses(server: Server, limits: ReaderLimits): Responses {
  const connections = new Map<Duplex, Connection>();
  let underWay = 0;
  let leaving = false;

  function closeIdle(): void {
    // A connection on which no request ever came is not idle to the server: it would be waited for.
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
        // It waited behind another one, and would never hear of it.
        if (response.socket === null) response.destroy().emit("close");
      }
    });
  });

  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (leaving) response.shouldKeepAlive = false;
    const responses = connections.get(socket)?.responses;
    responses?.add(response);
    underWay += 1;
    response.on("close", () => {
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
    isOn: (socket) => (connections.get(socket)?.responses.size ?? 0) > 0,
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
  // A connection that we have ended waits for its client's end, which counts as reading the last of it.
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
    socket.destroy();
  }
}

/**
 * The bytes that the operating system has taken over. The socket's own `bytesWritten` counts what waits too, and a chunk
 * may be a whole answer. Only the handle knows what is left of a chunk; Node's own timeouts read it as well.
 */
function taken(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/**
 * A client that has ended its side may wait for its answer, or may be gone: its end looks the same. Amid a stream it is
 * taken for gone. Before its answer begins it is asked.
 */
function readerEnded(response: ServerResponse): void {
  const { req, socket, headersSent, writableEnded } = response;
  if (writableEnded) return;
  // HTTP/1.0 has no informational responses to ask by.
  if (headersSent || req.httpVersion === "1.0") socket?.end();
  else probe(response, 0);
}

/**
 * Sends informational responses, which HTTP/1.1 clients are to skip; a few take one for the answer, as Python's
 * `http.client` does. Only a client that has ended its side is sent one, and without them one that has gone would be
 * served and charged. Who is gone answers the first by a reset, which the next one meets.
 */
function probe(response: ServerResponse, sent: number): void {
  const wait = PROBES_AFTER_MS[sent];
  if (wait === undefined || response.headersSent || response.socket === null || response.socket.destroyed) return;
  response.writeProcessing();
  setTimeout(probe, wait, response, sent + 1).unref();
}

/** From one probe to the next. Some clients take no more than five informational responses. */
const PROBES_AFTER_MS = [50, 500, 3_000, 0];
