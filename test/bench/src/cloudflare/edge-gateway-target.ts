import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type RunningWorker, startWorker } from "@inference/host-cloudflare/local/workerd";
import { gatewaySettings } from "../gateway-settings.ts";
import { realDirectory } from "../real-directory.ts";
import type { RunningTarget, Target } from "../target.ts";
import { completions } from "../targets.ts";
import { writeEdgeBooks } from "./edge-books.ts";

/** At most 32 requests of one account may be in flight: sixteen accounts carry 256 connections with room to spare. */
export const ACCOUNTS = 16;

/** This gateway's Worker as it is deployed, with its objects on disk. Another one has written the books before. */
export const edgeGateway: Target = {
  name: "gateway Worker",
  ours: true,
  missing: async () => undefined,
  start: async (upstreamOrigin) => startGateway(await realDirectory("edge-"), upstreamOrigin),
};

/** The same without a disk to wait for: what its own work costs. It keeps nothing, so no goal is held against it. */
export const edgeGatewayInMemory: Target = {
  name: "the same in memory",
  ours: false,
  missing: async () => ((await isFolder(MEMORY)) ? undefined : `${MEMORY} is not here`),
  start: async (upstreamOrigin) => startGateway(await mkdtemp(join(MEMORY, "bench-edge-")), upstreamOrigin),
};

const MEMORY = "/dev/shm";

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function startGateway(folder: string, upstreamOrigin: string): Promise<RunningTarget> {
  const secret = randomBytes(32);
  const settings = await gatewaySettings(upstreamOrigin, secret);
  const keys = await withWorker({ folder, settings, entry: BOOKS_WORKER }, ({ url }) =>
    writeEdgeBooks(`${url}/__books`, secret, ACCOUNTS),
  );
  return {
    ...(await startStoringWorker({ folder, settings })),
    headers: keys.map((key) => ({ authorization: `Bearer ${key}` })),
  };
}

/** A Worker with objects, and its folder gone with it. */
export async function startStoringWorker(
  options: Parameters<typeof startWorker>[0],
): Promise<Omit<RunningTarget, "headers">> {
  const worker = await startWorker(options);
  return {
    origin: worker.url,
    path: completions,
    pids: worker.pid === undefined ? [] : [worker.pid],
    async stop() {
      await worker.stop();
      await rm(options.folder, { recursive: true, force: true });
    },
  };
}

export const BOOKS_WORKER = new URL("books-worker.ts", import.meta.url);

/** For as long as `use` takes. What its objects wrote stays in the folder. */
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
