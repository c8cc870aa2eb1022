import { fail } from "@inference/protocol/errors";
import { makeOwnerQueue } from "./owner-queue.ts";

/**
 * Runs work with a limit on how much is in progress. Above it, the first work of a client waits for its turn, if the
 * limits let any wait. Throws 503 `overloaded` at once for all other work.
 *
 * @param client The client that the work is for, which has its own limit; undefined if it is unknown.
 */
export type Semaphore = <T>(work: () => Promise<T>, client?: string) => Promise<T>;

/** Maximum work in progress, in total and for one client, and maximum work that waits; none if it is absent. */
export type SemaphoreLimits = { atOnce: number; each?: number; waiting?: number };

/** @param what The kind of work, for the error's text. */
export function makeSemaphore({ atOnce, each = atOnce, waiting = 0 }: SemaphoreLimits, what: string): Semaphore {
  let underWay = 0;
  const clients = new Map<string, number>();
  const queue = makeOwnerQueue<() => void>();
  return async function through(work, client) {
    const own = client === undefined ? 0 : (clients.get(client) ?? 0);
    const isFull = underWay >= atOnce;
    if (own >= each || (isFull && (own > 0 || queue.length >= waiting)))
      fail("overloaded", `Too many ${what} are in progress. Retry in a second.`, { retryAfterS: 1 });
    if (client !== undefined) clients.set(client, own + 1);
    try {
      // Work that ends leaves its room to the next one.
      if (isFull) await new Promise<void>((enter) => queue.push(client ?? "", enter));
      else underWay += 1;
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) underWay -= 1;
      else next();
      if (client !== undefined) leave(clients, client);
    }
  };
}

function leave(clients: Map<string, number>, client: string): void {
  const left = (clients.get(client) ?? 0) - 1;
  if (left > 0) clients.set(client, left);
  else clients.delete(client);
}
