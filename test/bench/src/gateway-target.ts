import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@inference/contracts/free-port";
import { openBooks } from "./books.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import { firstLine, start } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import type { Target } from "./target.ts";

/** One account may have 32 requests in flight, so sixteen accounts carry 256 connections. */
const accounts = 16;

/** This gateway with key check, reserve and settle, and its ledger on a real file. */
export function gatewayTarget(): Target {
  return {
    name: "gateway",
    missing: async () => undefined,
    async start(upstreamOrigin) {
      const directory = await realDirectory("gateway-");
      const file = join(directory, "gateway.sqlite");
      const secret = randomBytes(32);
      const books = await openBooks({ file, secret, accounts, pastUses: 0 });
      await books.close();
      const port = await freePort();
      const main = fileURLToPath(import.meta.resolve("@inference/host-node/main"));
      const server = await start(process.execPath, [main], {
        env: {
          ...(await gatewaySettings(upstreamOrigin, secret)),
          HOST: "127.0.0.1",
          PORT: String(port),
          BASE_URL: `http://127.0.0.1:${port}`,
          DATABASE_FILE: file,
        },
      });
      const stop = async () => {
        await server.stop();
        await rm(directory, { recursive: true, force: true });
      };
      try {
        await listening(firstLine(server));
      } catch (error) {
        await stop();
        throw error;
      }
      return {
        origin: `http://127.0.0.1:${port}`,
        path: "/api/v1/chat/completions",
        headers: books.keys.map((key) => ({ authorization: `Bearer ${key}` })),
        pids: [server.pid],
        stop,
      };
    },
  };
}

async function listening(line: Promise<string>): Promise<void> {
  const said = await line;
  if (!said.includes('"listening"')) throw new Error(`the gateway said ${said} before it listened`);
}
