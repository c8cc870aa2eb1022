import { fail } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";

/**
 * The provider serves so many requests of a model at once, whoever they are from. Those that would be more wait here,
 * each account in a line of its own, and the lines are served in turn: an account with a thousand requests waiting
 * delays another's one by one request, not by a thousand. Nor does it keep another out: where no more may wait, the
 * longest line gives up its newest to whoever has a shorter one.
 */
export type FairQueue = {
  /** Undefined where there is room now, else a promise of it. Throws, or rejects with, 429 `rate_limited`. */
  enter(model: string, account: string, gone: AbortSignal | null): Promise<void> | undefined;
  /** Whether a request would have to wait. */
  isFull(model: string): boolean;
  /** Gives the room to the next in line. Once for everyone who got in. */
  leave(model: string): void;
  waiting(): number;
};

export type QueueLimits = {
  /** Requests of one model that are at the provider at a time. */
  atOnce: number;
  /** Those of one model that may wait, in all and of one account, and for how long. */
  waiting: number;
  waitingEach: number;
  waitMs: number;
};

type Waiter = { enter(): void; giveUp(): void };

/** The lines of a model, in the order of their turns. */
type Lines = { inside: number; waiting: number; byAccount: Map<string, Set<Waiter>> };

/** @param limit Null: there is always room. */
export function makeFairQueue(limit: QueueLimits | null, timers: Timers): FairQueue {
  if (limit === null) {
    return { enter: () => undefined, isFull: () => false, leave: () => undefined, waiting: () => 0 };
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

      /** False if it is out of the line already: of its turn, its time and its client, each may come last. */
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

  return {
    enter(model, account, gone) {
      const lines = models.get(model) ?? { inside: 0, waiting: 0, byAccount: new Map() };
      if (lines.inside < atOnce) {
        lines.inside += 1;
        models.set(model, lines);
        return undefined;
      }
      const own = lines.byAccount.get(account)?.size ?? 0;
      if (own >= waitingEach || gone?.aborted === true) crowded();
      if (lines.waiting >= waiting) makeRoom(lines, own + 1);
      return join(lines, account, gone);
    },
    isFull: (model) => (models.get(model)?.inside ?? 0) >= atOnce,
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
      // Its next one waits for the others' turns.
      lines.byAccount.delete(account);
      if (line.size > 0) lines.byAccount.set(account, line);
    },
    waiting: () => [...models.values()].reduce((sum, lines) => sum + lines.waiting, 0),
  };
}

/** Sends the newest of the longest line away. Throws if no line is longer than that of who comes would be. */
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
