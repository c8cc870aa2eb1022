import { createServer, IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { App } from "@inference/gateway/app";
import { limits } from "@inference/gateway/config";
import { SettingsError } from "@inference/gateway/settings";
import { endMalformed, malformedResponse } from "./malformed.ts";
import { outletOf } from "./outlet.ts";
import { paceBody } from "./pace-body.ts";
import { watchResponses } from "./responses.ts";
import { BYTES_A_TURN, makeTurns } from "./turns.ts";

type ListenSettings = {
  HOST: string;
  PORT: number;
  STALLED_READER_MS: number;
};

/** Serves the app over HTTP. Throws an error of one line if the port is in use. */
export async function listen(
  app: App,
  { HOST, PORT, STALLED_READER_MS }: ListenSettings,
): Promise<{ url: string; close(): Promise<void> }> {
  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      app.fetch(request, {
        peerAddress: incoming.socket.remoteAddress,
        target: incoming.url,
        waitedMs: performance.now() - (incoming as Arrival).arrivedMs,
        whenSent(callback) {
          if (outgoing.destroyed) queueMicrotask(callback);
          else outgoing.once("close", callback);
        },
        openOutlet: outletOf(outgoing as ServerResponse),
      }),
    { errorHandler: malformedResponse },
  );
  const turns = makeTurns(BYTES_A_TURN);
  const starts = makeTurns(REQUESTS_A_TURN);
  // A request without a host is refused later, with the gateway's error.
  const settings = { requireHostHeader: false, IncomingMessage: Arrival };
  const server = createServer(settings, (incoming, outgoing) => {
    const { socket } = incoming;
    if (responses.on(socket) > 1 + MAX_BEHIND) socket.destroy();
    // Node passes on all requests that came in the same read.
    if (socket.destroyed) return;
    paceBody(incoming, turns);
    function begin(): void {
      // Its client may have left while it waited.
      if (outgoing.destroyed) return;
      if (starts.hasRoomFor(1, begin)) void listener(incoming, outgoing);
    }
    if (outgoing.socket !== null) begin();
    else {
      outgoing.once("socket", () => {
        incoming.arrivedMs = performance.now();
        begin();
      });
    }
  });
  // An unknown expectation is ignored.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  // A client that has closed its side may still wait for the answer.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  const { slowestReaderBytesPerS } = limits;
  const responses = watchResponses(server, { stalledReaderMs: STALLED_READER_MS, slowestReaderBytesPerS });
  server.on("clientError", (error, socket) => {
    // An error in the middle of an answer would be taken for a part of it.
    if (responses.on(socket) > 0) socket.destroy();
    else endMalformed(error, socket);
  });
  server.keepAliveTimeout = 75_000;
  server.headersTimeout = 20_000;
  // For a request to arrive. Its body has an earlier deadline, and an answer has none here.
  server.requestTimeout = 60_000;
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    // The listener stays: a connection that cannot be accepted later must not end the process.
    server.on("error", (error) => reject(portError(error, PORT)));
    server.listen(PORT, HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      responses.leave();
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Why nobody can listen there, in one line. */
function portError(error: NodeJS.ErrnoException, port: number): SettingsError {
  const isTaken = error.code === "EADDRINUSE";
  return new SettingsError(isTaken ? `Port ${port} is in use: set another PORT, or stop what uses it.` : error.message);
}

/** A request that may wait for its turn. */
class Arrival extends IncomingMessage {
  arrivedMs = performance.now();
}

/** Each connection takes memory before its first request. */
const MAX_CONNECTIONS = 10_000;

/**
 * Requests that begin in one turn of the event loop. The others wait, one for each connection, with their headers and
 * what has come of their bodies, because the memory of a request that has begun lives until it ends, and the collector
 * copies it.
 */
const REQUESTS_A_TURN = { amount: 32 };

/**
 * Requests behind another one on their connection. Each begins when the one before is answered, so that a client takes
 * no more turns than others. Node reads on while they wait.
 */
const MAX_BEHIND = 32;

/** How long a stop waits for the answers in flight. */
const CLOSE_MS = 20_000;
