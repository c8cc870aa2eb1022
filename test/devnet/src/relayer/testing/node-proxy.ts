import { createServer } from "node:http";
import { listenLocally } from "@inference/protocol/testing/local-server";

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
  const { url, close } = await listenLocally(server);
  const proxy: NodeProxy = {
    url,
    lie: undefined,
    isOffline: false,
    [Symbol.asyncDispose]: close,
  };
  return proxy;
}
