import { type RunningWorker, startWorker } from "@inference/host-cloudflare/local/workerd";

/** Fills objects with accounts. Not the deployed Worker. */
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
