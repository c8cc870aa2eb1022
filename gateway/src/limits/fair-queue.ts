import { fail } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";

/**
 * Limits the concurrent requests of each model at the provider. Further requests wait, in one line for each account,
 * and the lines take turns: an account with a thousand waiting requests delays another account's request by one
 * request. When the queue is full, the newest request of the longest line is refused to make room for a shorter line.
 */
export type FairQueue = {
  /** Takes room if there is some now. Returns whether it did; a promise if the room is counted elsewhere. */
  tryEnter(model: string): boolean | Promise<boolean>;
  /** Undefined if there is room now, else a promise of room. Throws, or rejects with, 429 `rate_limited`. */
  enter(model: string, account: string, gone: AbortSignal | null): Promise<void> | undefined;
  /** Gives the room to the next request. To be called once for each request that got room. */
  leave(model: string): void;
  waiting(): number;
};

export type QueueLimits = {
  /** Maximum concurrent requests of one model at the provider. */
  atOnce: number;
  /** Maximum waiting requests of one model, in all and of one account, and the maximum time to wait. */
  waiting: number;
  waitingEach: number;
  waitMs: number;
};

type Waiter = { enter(): void; giveUp(): void };

/** The lines of a model. The first account has the next turn. */
type Lines = { inside: number; waiting: number; byAccount: Map<string, Set<Waiter>> };

/** @param limit Null: no limit. */
export function makeFairQueue(limit: QueueLimits | null, timers: Timers): FairQueue {
  if (limit === null) {
    return { tryEnter: () => true, enter: () => undefined, leave: () => undefined, waiting: () => 0 };
  }
  const { atOnce, waiting, waitingEach, waitMs } = limit;
  const models = new Map<string, Lines>();

  function join(lines: Lines, account: string, gone: AbortSignal | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = lines.byAccount.get(account) ?? new Set<Waiter>();
      lines.byAccount.set(account, line);
      const timer = timers.after(waitMs, giveUp);
      gone?.addEventListener("abort", giveUp, { once: true });
      const waiter: Waiter = {
        enter() {
          if (stepOut()) resolve();
        },
        giveUp,
      };
      line.add(waiter);
      lines.waiting += 1;

      /** False if it has left the line already. Its turn, its time limit and its client can each end the wait. */
      function stepOut(): boolean {
        timer.cancel();
        gone?.removeEventListener("abort", giveUp);
        if (!line.delete(waiter)) return false;
        lines.waiting -= 1;
        if (line.size === 0) lines.byAccount.delete(account);
        return true;
      }
      function giveUp(): void {
        if (!stepOut()) return;
        try {
          crowded();
        } catch (error) {
          reject(error);
        }
      }
    });
  }

  function linesOf(model: string): Lines {
    let lines = models.get(model);
    if (lines === undefined) {
      lines = { inside: 0, waiting: 0, byAccount: new Map() };
      models.set(model, lines);
    }
    return lines;
  }

  function tryEnter(model: string): boolean {
    const lines = linesOf(model);
    if (lines.inside >= atOnce) return false;
    lines.inside += 1;
    return true;
  }

  return {
    tryEnter,
    enter(model, account, gone) {
      if (tryEnter(model)) return undefined;
      const lines = linesOf(model);
      const own = lines.byAccount.get(account)?.size ?? 0;
      if (own >= waitingEach || gone?.aborted === true) crowded();
      if (lines.waiting >= waiting) makeRoom(lines, own + 1);
      return join(lines, account, gone);
    },
    leave(model) {
      const lines = models.get(model);
      if (lines === undefined) return;
      const [next] = lines.byAccount;
      if (next === undefined) {
        lines.inside -= 1;
        if (lines.inside === 0) models.delete(model);
        return;
      }
      const [account, line] = next;
      const [waiter] = line;
      waiter?.enter();
      // The account's next request waits until the other accounts had their turns.
      lines.byAccount.delete(account);
      if (line.size > 0) lines.byAccount.set(account, line);
    },
    waiting: () => [...models.values()].reduce((sum, lines) => sum + lines.waiting, 0),
  };
}

/** Refuses the newest request of the longest line. Throws if no line is longer than the new request's would be. */
function makeRoom({ byAccount }: Lines, length: number): void {
  let longest: Set<Waiter> | undefined;
  for (const line of byAccount.values()) if (line.size > (longest?.size ?? length)) longest = line;
  if (longest === undefined) crowded();
  [...longest].at(-1)?.giveUp();
}

function crowded(): never {
  const message = "Too many requests for this model are queued. Retry in a few seconds.";
  return fail("rate_limited", message, { retryAfterS: 5 });
}
