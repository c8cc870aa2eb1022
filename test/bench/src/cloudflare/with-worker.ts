import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { type RunningWorker, startWorker } from "@inference/host-cloudflare/local/workerd";
import { gatewaySettings } from "../gateway-settings.ts";
import { realDirectory } from "../real-directory.ts";
import type { Target } from "../target.ts";
import { completions } from "../targets.ts";
import { writeEdgeBooks } from "./edge-books.ts";

/** One account may have 32 requests in flight, so sixteen accounts carry all connections. */
const ACCOUNTS = 16;

/** This gateway's Worker as deployed, with objects on disk. Another Worker has filled them before. */
export const edgeGateway: Target = {
  name: "gateway Worker",
  ours: true,
  missing: async () => undefined,
  async start(upstreamOrigin) {
    const folder = await realDirectory("edge-");
    const secret = randomBytes(32);
    const settings = await gatewaySettings(upstreamOrigin, secret);
    const keys = await withWorker({ folder, settings, entry: BOOKS_WORKER }, ({ url }) =>
      writeEdgeBooks(`${url}/__books`, secret, ACCOUNTS),
    );
    const worker = await startWorker({ folder, settings });
    return {
      origin: worker.url,
      path: completions,
      headers: keys.map((key) => ({ authorization: `Bearer ${key}` })),
      pids: worker.pid === undefined ? [] : [worker.pid],
      async stop() {
        await worker.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};

export const BOOKS_WORKER = new URL("books-worker.ts", import.meta.url);

/** Runs a Worker while `use` runs. Its objects' files stay in the folder. */
export async function withWorker<T>(
  options: Parameters<typeof startWorker>[0],
  use: (worker: RunningWorker) => Promise<T>,
): Promise<T> {
  const worker = await startWorker(options);
  try {
    return await use(worker);
  } finally {
    await worker.stop();
  }
}
