import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";

// A reverse proxy of node:http and an undici pool: the cost of Node itself. It takes the upstream's origin, and prints
// its own when it listens.

const origin = process.argv[2];
if (origin === undefined) throw new Error("usage: bare-proxy.ts <upstream origin>");
const pool = new Pool(origin);

const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "host"]);

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept: IncomingHttpHeaders = {};
  for (const name in headers) if (!hopByHop.has(name)) kept[name] = headers[name];
  return kept;
}

const server = createServer((request, response) => {
  const method = request.method ?? "GET";
  pool
    .stream(
      {
        path: request.url ?? "/",
        method: method as "GET",
        headers: endToEnd(request.headers),
        body: method === "GET" ? null : request,
      },
      ({ statusCode, headers }) => response.writeHead(statusCode, endToEnd(headers)),
    )
    .catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "content-length": 0 }).end();
    });
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", 4096, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
