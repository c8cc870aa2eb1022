import { fail } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";

/**
 * Runs work with a limit on how much is in progress. Above it, the first work of a client waits for its turn, if the
 * limits let any wait. Throws 503 `overloaded` for all other work at once, and for work that has waited too long.
 *
 * @param client The client that the work is for, which has its own limit; undefined if it is unknown.
 */
export type Semaphore = <T>(work: () => Promise<T>, client?: string) => Promise<T>;

/** Maximum work in progress, in total and for one client, and the work that may wait; none if it is absent. */
export type SemaphoreLimits = { atOnce: number; each?: number; waiting?: Waiting };

/**
 * Maximum work that waits, and for how long. A wait must end while its request runs, or the place that it gets is lost:
 * a Worker ends 30 s after its client has left.
 */
type Waiting = { most: number; ms: number; timers: Timers };

/** @param what The kind of work, for the error's text. */
export function makeSemaphore({ atOnce, each = atOnce, waiting }: SemaphoreLimits, what: string): Semaphore {
  let underWay = 0;
  const clients = new Map<string, number>();
  /** Each lets one piece of work in, the oldest first. */
  const turns = new Set<() => void>();

  function refuse(): never {
    return fail("overloaded", `Too many ${what} are in progress. Retry in a second.`, { retryAfterS: 1 });
  }
  /** Throws if the turn does not come in time. */
  async function turn({ ms, timers }: Waiting): Promise<void> {
    const hasTurn = await new Promise<boolean>((resolve) => {
      const enter = () => end(true);
      const timer = timers.after(ms, () => end(false));
      function end(isIn: boolean): void {
        turns.delete(enter);
        timer.cancel();
        resolve(isIn);
      }
      turns.add(enter);
    });
    if (!hasTurn) refuse();
  }
  async function hold<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      // Work that ends leaves its place to the next one.
      const [next] = turns;
      if (next === undefined) underWay -= 1;
      else next();
    }
  }
  return async function through(work, client) {
    const own = client === undefined ? 0 : (clients.get(client) ?? 0);
    const isFull = underWay >= atOnce;
    if (own >= each || (isFull && (own > 0 || waiting === undefined || turns.size >= waiting.most))) refuse();
    if (client !== undefined) clients.set(client, own + 1);
    try {
      if (isFull && waiting !== undefined) await turn(waiting);
      else underWay += 1;
      return await hold(work);
    } finally {
      if (client !== undefined) leave(clients, client);
    }
  };
}

function leave(clients: Map<string, number>, client: string): void {
  const left = (clients.get(client) ?? 0) - 1;
  if (left > 0) clients.set(client, left);
  else clients.delete(client);
}
