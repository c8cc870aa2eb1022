import type { Timers } from "@inference/protocol/timers";
import type { OperatorConfig } from "../config.ts";
import type { Failure, FailureBudget, Sender } from "./failure-budget.ts";
import { ModelUnavailable } from "./model-unavailable.ts";
import type { Pace, RateLimit } from "./pace.ts";

/**
 * Gives requests their turns at the provider. A request has a turn at once if its model has room, if the provider's
 * pace allows it, and if its account's failures do (`failure-budget.ts`). Further requests wait, in one line for each
 * account, and the lines take turns: an account with a thousand waiting requests delays another account's request by
 * one request. When the queue is full, the newest request of the longest line is refused to make room for a shorter
 * line.
 */
export type FairQueue = {
  /** A turn if there is one now, else null. Throws as `FailureBudget.admits`. */
  tryEnter(asker: Asker): Turn | null;
  /**
   * A turn, or a promise of one. Throws, or rejects with, `ModelUnavailable` (429 `rate_limited`) or as
   * `FailureBudget.admits`.
   */
  enter(asker: Asker, gone: AbortSignal | null): Turn | Promise<Turn>;
  waiting(): number;
  /** As `FailureBudget.standing`. */
  standing: FailureBudget["standing"];
};

export type Asker = Sender & { model: string };

export type Turn = {
  /**
   * The provider has answered the request. Called at most once; a request that ends without an answer calls `leave`.
   */
  answered(answer: Answered): void;
  /** Gives the room to the next request. A second call changes nothing. */
  leave(): void;
};

/** The parts of a provider's answer that decide on further turns. */
export type Answered = {
  failure: Failure | null;
  rate: RateLimit | null;
  /** How long the provider blocks the key; null if it does not. */
  blockedMs: number | null;
};

export type QueueLimits = OperatorConfig["queue"] & {
  /** Maximum waiting requests of one account and model. */
  waitingEach: number;
};

type Waiter = { asker: Asker; enter(turn: Turn): void; giveUp(error?: unknown): void };

/** The lines of a model. The first account has the next turn. */
type Lines = {
  inside: number;
  waiting: number;
  byAccount: Map<string, Set<Waiter>>;
  /** Serves the lines when the provider's pace allows it. */
  wake: { cancel(): void } | null;
};

export function makeFairQueue(
  { atOnce, waiting, waitingEach, waitMs }: QueueLimits,
  timers: Timers,
  { failures, pace }: { failures: FailureBudget; pace: Pace },
): FairQueue {
  const models = new Map<string, Lines>();

  function linesOf(model: string): Lines {
    let lines = models.get(model);
    if (lines === undefined) {
      lines = { inside: 0, waiting: 0, byAccount: new Map(), wake: null };
      models.set(model, lines);
    }
    return lines;
  }

  /** Throws as `FailureBudget.admits`, also if the model has no room. */
  function grant(asker: Asker): Turn | null {
    const { key, model } = asker;
    if (!failures.admits(asker) || pace.waitMs(key, model) > 0) return null;
    const lines = linesOf(model);
    if (lines.inside >= atOnce) return null;
    lines.inside += 1;
    failures.sent(asker);
    return makeTurn(asker, lines, pace.sent(key, model));
  }

  function makeTurn(asker: Asker, lines: Lines, sentAs: number): Turn {
    let isAnswered = false;
    let hasLeft = false;
    function note(failure: Failure | null): void {
      isAnswered = true;
      failures.answered(asker, failure);
    }
    return {
      answered({ failure, rate, blockedMs }) {
        if (isAnswered) return;
        note(failure);
        if (blockedMs !== null) failures.blocked(asker.key, blockedMs);
        if (rate !== null) pace.answered(asker.key, asker.model, sentAs, rate);
        serveAll();
      },
      leave() {
        if (hasLeft) return;
        hasLeft = true;
        lines.inside -= 1;
        if (!isAnswered) note(null);
        serveAll();
        if (lines.inside === 0 && lines.waiting === 0) models.delete(asker.model);
      },
    };
  }

  /** An answer to a request of one model can let a request of its account enter for another model. */
  function serveAll(): void {
    for (const lines of models.values()) if (lines.waiting > 0) serve(lines);
  }

  /** Gives turns to waiting requests while there are any. An account's next request waits for the other accounts. */
  function serve(lines: Lines): void {
    // A line that moves to the end is visited again.
    for (const [account, line] of lines.byAccount) {
      if (lines.inside >= atOnce) return;
      const [waiter] = line;
      if (waiter === undefined || !serveOne(waiter)) continue;
      lines.byAccount.delete(account);
      if (line.size > 0) lines.byAccount.set(account, line);
    }
    wakeInTime(lines);
  }

  /** Whether the request waits no longer. */
  function serveOne(waiter: Waiter): boolean {
    try {
      const turn = grant(waiter.asker);
      if (turn === null) return false;
      waiter.enter(turn);
    } catch (error) {
      waiter.giveUp(error);
    }
    return true;
  }

  function wakeInTime(lines: Lines): void {
    lines.wake?.cancel();
    lines.wake = null;
    // A request that waits longer is refused before.
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [waiter] of lines.byAccount.values()) {
      const ms = waiter === undefined ? 0 : pace.waitMs(waiter.asker.key, waiter.asker.model);
      if (ms > 0 && ms <= waitMs) soonestMs = Math.min(soonestMs, ms);
    }
    if (soonestMs === Number.POSITIVE_INFINITY) return;
    lines.wake = timers.after(soonestMs, () => serve(lines));
  }

  function join(asker: Asker, gone: AbortSignal | null): Promise<Turn> {
    const { account } = asker;
    const lines = linesOf(asker.model);
    return new Promise((resolve, reject) => {
      const line = lines.byAccount.get(account) ?? new Set<Waiter>();
      lines.byAccount.set(account, line);
      const timer = timers.after(waitMs, timeIsOver);
      gone?.addEventListener("abort", leave, { once: true });
      const waiter: Waiter = {
        asker,
        enter(turn) {
          if (stepOut()) resolve(turn);
        },
        giveUp(error = crowded(pace, asker)) {
          if (stepOut()) reject(error);
        },
      };
      line.add(waiter);
      lines.waiting += 1;
      wakeInTime(lines);

      /** False if it has left the line already. Its turn, its time limit and its client can each end the wait. */
      function stepOut(): boolean {
        timer.cancel();
        gone?.removeEventListener("abort", leave);
        if (!line.delete(waiter)) return false;
        lines.waiting -= 1;
        if (line.size === 0) lines.byAccount.delete(account);
        return true;
      }
      function leave(): void {
        waiter.giveUp();
      }
      function timeIsOver(): void {
        // Time alone can have made room.
        if (line.has(waiter) && !serveOne(waiter)) waiter.giveUp();
      }
    });
  }

  return {
    tryEnter: grant,
    enter(asker, gone) {
      const turn = grant(asker);
      if (turn !== null) return turn;
      const lines = linesOf(asker.model);
      const own = lines.byAccount.get(asker.account)?.size ?? 0;
      const isTooLate = gone?.aborted === true || pace.waitMs(asker.key, asker.model) > waitMs;
      if (own >= waitingEach || isTooLate) throw crowded(pace, asker);
      if (lines.waiting >= waiting) makeRoom(lines, own + 1, asker);
      return join(asker, gone);
    },
    waiting: () => [...models.values()].reduce((sum, lines) => sum + lines.waiting, 0),
    standing: failures.standing,
  };

  /** Refuses the newest request of the longest line. Throws if no line is longer than the new request's would be. */
  function makeRoom({ byAccount }: Lines, length: number, asker: Asker): void {
    let longest: Set<Waiter> | undefined;
    for (const line of byAccount.values()) if (line.size > (longest?.size ?? length)) longest = line;
    if (longest === undefined) throw crowded(pace, asker);
    [...longest].at(-1)?.giveUp();
  }
}

/** Why a request waits no longer. */
function crowded(pace: Pace, { key, model }: Asker): ModelUnavailable {
  const ms = pace.waitMs(key, model);
  const retryAfterS = ms > 0 ? Math.ceil(ms / 1000) : 5;
  const message =
    ms > 0
      ? `The provider accepts no more requests for \`${model}\` now. Nothing was charged. Retry in ${retryAfterS} s.`
      : "Too many requests for this model are queued. Retry in a few seconds.";
  return new ModelUnavailable(ms > 0 ? "rate limit" : "queue full", { code: "rate_limited", message, retryAfterS });
}
