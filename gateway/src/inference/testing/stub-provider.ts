import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startProviderSimulator } from "@inference/provider-simulator/server";

/** A provider that lists the simulator's models and answers whatever it is told to: for what the simulator never says. */
export type StubProvider = {
  url: string;
  /** The body of every answer from now on, as JSON with status 200. */
  say(body: string): void;
  stop(): Promise<void>;
};

export async function startStubProvider(): Promise<StubProvider> {
  const simulator = await startProviderSimulator();
  let said = "{}";
  const server = createServer(async (request, response) => {
    request.resume();
    const path = request.url ?? "";
    const body = request.method === "GET" ? await (await fetch(new URL(path, simulator.url))).text() : said;
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(simulator.url).pathname}`,
    say(body) {
      said = body;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await simulator.close();
    },
  };
}
