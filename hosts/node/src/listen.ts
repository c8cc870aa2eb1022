import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { App } from "@inference/gateway/http/app";
import { SettingsError } from "@inference/gateway/settings";
import { endMalformed, malformedResponse } from "./malformed.ts";

/** Serves the app over HTTP. Throws one line if the port is taken. */
export async function listen(
  app: App,
  { HOST, PORT }: { HOST: string; PORT: number },
): Promise<{ url: string; close(): Promise<void> }> {
  const listener = getRequestListener(app.fetch, { errorHandler: malformedResponse });
  // Without a host it is refused all the same, but in our words.
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => void listener(incoming, outgoing));
  server.on("clientError", endMalformed);
  server.keepAliveTimeout = 75_000;
  server.headersTimeout = 20_000;
  // Bodies have their own deadline; an answer may take as long as its stream.
  server.requestTimeout = 0;
  server.maxHeadersCount = 100;
  const answers = countAnswers(server);
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
      // A connection on which no request ever came is not idle to the server: it would be waited for.
      answers.whenNone(() => server.closeAllConnections());
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Counts the answers in flight. */
function countAnswers(server: Server): { whenNone(callback: () => void): void } {
  let inFlight = 0;
  let waiting: (() => void) | undefined;
  server.on("request", (_request, response) => {
    inFlight += 1;
    response.once("close", () => {
      inFlight -= 1;
      if (inFlight === 0) waiting?.();
    });
  });
  return {
    whenNone(callback) {
      waiting = callback;
      if (inFlight === 0) callback();
    },
  };
}

/** How long answers in flight may take to leave once the gateway is to stop. */
const CLOSE_MS = 20_000;
