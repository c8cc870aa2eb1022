import { createServer, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { startProviderSimulator } from "@inference/provider-simulator/server";

/**
 * A provider with the simulator's models and scripted answers, for answers that the simulator never gives.
 */
export type StubProvider = {
  url: string;
  /** Sets the answer to every paid request from now on. */
  say(answer: StubAnswer): void;
  stop(): Promise<void>;
};

export type StubAnswer = {
  /** 200, if it is not given. */
  status?: number;
  /** Beside the content type, which is JSON if it is not given. */
  headers?: Record<string, string>;
  /**
   * An answer, or a function that makes one for each request and its key. If the function throws, the connection
   * breaks off.
   */
  body: string | ((request: { key: string }) => AsyncIterable<string>);
};

function keyOf({ headers: { authorization = "" } }: IncomingMessage): string {
  return authorization.replace("Bearer ", "");
}

export async function startStubProvider(): Promise<StubProvider> {
  const simulator = await startProviderSimulator();
  let said: StubAnswer = { body: "{}" };
  const server = createServer(async (request, response) => {
    request.resume();
    const { status = 200, headers = {}, body } = request.method === "GET" ? await listed(request.url ?? "") : said;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    if (typeof body === "string") response.end(body);
    // A client that leaves ends the answer as well.
    else await pipeline(Readable.from(body({ key: keyOf(request) })), response).catch(() => undefined);
  });
  const listed = async (path: string): Promise<StubAnswer> => ({
    body: await (await fetch(new URL(path, simulator.url))).text(),
  });
  const { url, close } = await listenLocally(server);
  return {
    url: url + new URL(simulator.url).pathname,
    say(answer) {
      said = answer;
    },
    async stop() {
      await close();
      await simulator.close();
    },
  };
}
