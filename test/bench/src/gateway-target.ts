import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBooks } from "./books.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import type { Synchronous } from "./ledger-target.ts";
import { type Api, apis } from "./load-plan.ts";
import { firstLine, freePort, start } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import type { Target } from "./target.ts";

/** At most 32 requests of one account may be in flight: sixteen accounts carry 256 connections with room to spare. */
const accounts = 16;

/** This gateway with all that it does: key check, reserve, settle, and its ledger on a real file. */
export function gatewayTarget(synchronous: Synchronous): Target {
  return gatewayAskedBy(apis.chat, `gateway ${synchronous}`, synchronous);
}

/** The gateway three times, each asked by another API for the same: what the translation costs. */
export const translationTargets: readonly Target[] = [
  gatewayAskedBy(apis.chat, "gateway, chat"),
  gatewayAskedBy(apis.responses, "gateway, Responses"),
  gatewayAskedBy(apis.messages, "gateway, Messages"),
];

function gatewayAskedBy(api: Api, name: string, synchronous: Synchronous = "FULL"): Target {
  return {
    name,
    ours: true,
    missing: async () => undefined,
    async start(upstreamOrigin) {
      const directory = await realDirectory("gateway-");
      const file = join(directory, "gateway.sqlite");
      const secret = randomBytes(32);
      const books = await openBooks({ file, synchronous, secret, accounts, pastUses: 0 });
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
          DATABASE_SYNCHRONOUS: synchronous,
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
        path: `/api/v1${api.path}`,
        api,
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
