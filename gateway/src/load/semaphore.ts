import { fail } from "@inference/protocol/errors";

/**
 * Runs work with a limit on how much is in progress. Throws 503 `overloaded` at once above it.
 *
 * @param client The client that the work is for, which has its own limit; undefined if it is unknown.
 */
export type Semaphore = <T>(work: () => Promise<T>, client?: string) => Promise<T>;

/** Maximum work in progress, in total and for one client. */
export type SemaphoreLimits = { atOnce: number; each?: number };

/** @param what The kind of work, for the error's text. */
export function makeSemaphore({ atOnce, each = atOnce }: SemaphoreLimits, what: string): Semaphore {
  let underWay = 0;
  const clients = new Map<string, number>();
  return async function through(work, client) {
    const own = client === undefined ? 0 : (clients.get(client) ?? 0);
    if (underWay >= atOnce || own >= each)
      fail("overloaded", `Too many ${what} are in progress. Retry in a second.`, { retryAfterS: 1 });
    underWay += 1;
    if (client !== undefined) clients.set(client, own + 1);
    try {
      return await work();
    } finally {
      underWay -= 1;
      if (client !== undefined) leave(clients, client);
    }
  };
}

function leave(clients: Map<string, number>, client: string): void {
  const left = (clients.get(client) ?? 0) - 1;
  if (left > 0) clients.set(client, left);
  else clients.delete(client);
}
