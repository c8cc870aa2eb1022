import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Pool } from "undici";
import { openBooks } from "./books.ts";

// The bare proxy and our ledger, and nothing between them: a reserve before a request is forwarded, its settle before
// a whole answer is sent or after a stream. No key is checked, no price is known, nothing is parsed: the least that
// whoever keeps this ledger can cost. Takes the upstream's origin and the books' file, prints its own origin when it
// listens.

const [, , origin, file] = process.argv;
if (origin === undefined || file === undefined) throw new Error("usage: ledger-proxy.ts <upstream origin> <file>");
const ACCOUNTS = 16;
const books = await openBooks({
  file,
  synchronous: "FULL",
  secret: randomBytes(32),
  accounts: ACCOUNTS,
  pastUses: 0,
});
const pool = new Pool(origin, { connections: 1024, pipelining: 1 });
let served = 0;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isPost = request.method === "POST";
  const body = isPost ? await buffer(request) : null;
  served += 1;
  const { settle } = await books.reserve(served % ACCOUNTS);
  const answer = await pool.request({
    path: request.url ?? "/",
    method: isPost ? "POST" : "GET",
    headers: { "content-type": "application/json" },
    body,
  });
  const type = String(answer.headers["content-type"]);
  if (type.startsWith("text/event-stream")) {
    response.writeHead(answer.statusCode, { "content-type": type });
    await pipeline(answer.body, response);
    await settle();
    return;
  }
  const whole = await buffer(answer.body);
  await settle();
  response.writeHead(answer.statusCode, { "content-type": type, "content-length": whole.length }).end(whole);
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", 4096, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
