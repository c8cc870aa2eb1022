import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of this machine on which nothing listens. Systems give higher ports to outgoing connections (Linux: from
 * 32,768), and a connection could take such a port before its user listens.
 */
export async function freePort(): Promise<number> {
  for (let tries = 100; tries > 0; tries--) {
    const port = randomInt(20_000, 32_768);
    const server = createServer();
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("None of 100 ports from 20000 to 32767 is free.");
}
