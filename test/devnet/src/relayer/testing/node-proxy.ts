import { createServer } from "node:http";

type Call = { id: number; method: string; params: unknown[] };
type Answer = { result?: unknown; error?: unknown };

/** A node that says what another says, except where a test makes it lie. */
export type NodeProxy = AsyncDisposable & {
  url: string;
  /** Its version of an answer; undefined: the true one. */
  lie: ((call: Call, answer: Answer) => Answer) | undefined;
  isOffline: boolean;
};

export async function startNodeProxy(target: string): Promise<NodeProxy> {
  const server = createServer(async (request, response) => {
    if (proxy.isOffline) {
      response.writeHead(503).end();
      return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const headers = { "content-type": "application/json" };
    const answer = (await (await fetch(target, { method: "POST", headers, body })).json()) as Answer;
    const call = JSON.parse(body) as Call;
    const told = { jsonrpc: "2.0", id: call.id, ...(proxy.lie?.(call, answer) ?? answer) };
    response.writeHead(200, headers).end(JSON.stringify(told));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const proxy: NodeProxy = {
    url: `http://127.0.0.1:${address.port}`,
    lie: undefined,
    isOffline: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
