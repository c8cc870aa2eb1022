import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of this machine on which nothing listens. It is below those that systems give to outgoing connections (Linux:
 * from 32,768), of which one could take it before its user listens.
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
