import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that delays each call of a node, so that a process can be killed between two calls. */
export async function startSlowNode(rpcUrl: string, delayMs: number): Promise<{ url: string; close(): void }> {
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
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
