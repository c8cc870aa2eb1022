import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { App } from "@inference/gateway/app";
import { limits } from "@inference/gateway/config";
import { SettingsError } from "@inference/gateway/settings";
import { endMalformed, malformedResponse } from "./malformed.ts";
import { paceBody } from "./pace-body.ts";
import { watchResponses } from "./responses.ts";
import { makeTurns } from "./turns.ts";

export type ListenSettings = { HOST: string; PORT: number; STALLED_READER_MS: number };

/** Serves the app over HTTP. Throws one line if the port is taken. */
export async function listen(
  app: App,
  { HOST, PORT, STALLED_READER_MS }: ListenSettings,
): Promise<{ url: string; close(): Promise<void> }> {
  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      app.fetch(request, {
        peerAddress: incoming.socket.remoteAddress,
        target: incoming.url,
        whenSent(callback) {
          if (outgoing.destroyed) queueMicrotask(callback);
          else outgoing.once("close", callback);
        },
        // The listener would end a stream that fails as if it were whole, where it waits for the client.
        breakOff: () => outgoing.destroy(),
      }),
    { errorHandler: malformedResponse },
  );
  const turns = makeTurns();
  // Without a host it is refused all the same, but in our words.
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    paceBody(incoming, turns);
    void listener(incoming, outgoing);
  });
  // An expectation nobody has heard of changes nothing about the request.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  // A client that has ended its side may still wait for its answer.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  const { slowestReaderBytesPerS } = limits;
  const responses = watchResponses(server, { stalledReaderMs: STALLED_READER_MS, slowestReaderBytesPerS });
  server.on("clientError", (error, socket) => {
    // Bytes of ours in the middle of an answer would be taken for a part of it.
    if (responses.isOn(socket)) socket.destroy();
    else endMalformed(error, socket);
  });
  server.keepAliveTimeout = 75_000;
  server.headersTimeout = 20_000;
  // For a request to arrive; its body has a deadline of its own before that. An answer may take as long as its stream.
  server.requestTimeout = 60_000;
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE";
      reject(
        new SettingsError(taken ? `Port ${PORT} is in use: set another PORT, or stop what uses it.` : error.message),
      );
    });
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

/** Each takes memory before it has asked for anything. */
const MAX_CONNECTIONS = 10_000;

/** How long answers in flight may take to leave once the gateway is to stop. */
const CLOSE_MS = 20_000;
