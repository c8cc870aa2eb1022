import { createServer } from "node:http";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";

/** A proxy that delays each call of a node, so that a process can be killed between two calls. */
export function startSlowNode(rpcUrl: string, delayMs: number): Promise<LocalServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      setTimeout(() => {
        fetch(rpcUrl, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: Buffer.concat(chunks),
        })
          .then(async (answer) => {
            response.setHeader("content-type", "application/json").end(await answer.text());
          })
          .catch(() => response.destroy());
      }, delayMs);
    });
  });
  return listenLocally(server);
}
