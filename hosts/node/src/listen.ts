import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { App } from "@inference/gateway/http/app";
import { SettingsError } from "@inference/gateway/settings";
import { endMalformed, malformedResponse } from "./malformed.ts";

/** Serves the app over HTTP. Throws one line if the port is taken. */
export async function listen(
  app: App,
  { HOST, PORT }: { HOST: string; PORT: number },
): Promise<{ url: string; close(): Promise<void> }> {
  const listener = getRequestListener(
    (request, { incoming }) => app.fetch(request, { peerAddress: incoming.socket.remoteAddress }),
    { errorHandler: malformedResponse },
  );
  // Without a host it is refused all the same, but in our words.
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => void listener(incoming, outgoing));
  // An expectation nobody has heard of changes nothing about the request.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  const answers = watchAnswers(server);
  server.on("clientError", (error, socket) => {
    // Bytes of ours in the middle of an answer would be taken for a part of it.
    if (answers.isOn(socket)) socket.destroy();
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
      answers.leave();
      await closed;
      clearTimeout(timer);
    },
  };
}

/** The answers that are under way. */
type Answers = {
  /** Whether one is on this connection. */
  isOn(socket: Duplex): boolean;
  /**
   * Once called, a connection ends with the answer it is at, so that a client that keeps its connection does not keep
   * the gateway: it is told so in the answer's headers or, where they have left already, by the connection's end.
   */
  leave(): void;
};

function watchAnswers(server: Server): Answers {
  const underWay = new Set<ServerResponse>();
  let leaving = false;
  function closeIdle(): void {
    // A connection on which no request ever came is not idle to the server: it would be waited for.
    if (underWay.size === 0) server.closeAllConnections();
    else server.closeIdleConnections();
  }
  function over(this: ServerResponse): void {
    underWay.delete(this);
    if (leaving) setImmediate(closeIdle);
  }
  server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) => {
    if (leaving) response.shouldKeepAlive = false;
    underWay.add(response);
    response.on("close", over);
  });
  return {
    isOn: (socket) => [...underWay].some(({ req }) => req.socket === socket),
    leave() {
      leaving = true;
      for (const response of underWay) if (!response.headersSent) response.shouldKeepAlive = false;
      closeIdle();
    },
  };
}

/** Each takes memory before it has asked for anything. */
const MAX_CONNECTIONS = 10_000;

/** How long answers in flight may take to leave once the gateway is to stop. */
const CLOSE_MS = 20_000;
