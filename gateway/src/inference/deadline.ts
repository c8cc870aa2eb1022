import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";

/** The parts of a call that a deadline needs. */
type Timed = {
  /** When the request arrived. */
  at: number;
  clientGone: AbortSignal | null;
  /** Whether the answer's bytes are sent while they arrive. */
  isStreaming: boolean;
  abort(): void;
};

/**
 * Aborts a call when its time is over:
 *
 * - after `answerMs`, unless the client is already receiving its answer;
 * - a minute before its lease ends, so that no hold of a live request lapses;
 * - `drainMs` after its client has gone.
 */
export function startDeadline({ environment, config }: Gateway, call: Timed): { cancel(): void } {
  const { clock, timers } = environment;
  const { clientGone } = call;
  const over = (): void => call.abort();
  // Counted from the arrival, as the lease is: reading the body and reserving have used some of the time.
  const left = Math.min(Math.max(0, call.at + limits.requestMs - clock.now()), limits.requestMs);
  const { answerMs } = config.request;
  let lease = answerMs < left ? timers.after(answerMs, unanswered) : timers.after(left, over);
  let drain: { cancel(): void } | undefined;
  function unanswered(): void {
    if (call.isStreaming) lease = timers.after(left - answerMs, over);
    else over();
  }
  const onGone = (): void => {
    drain = timers.after(config.drainMs, over);
  };
  if (clientGone?.aborted === true) onGone();
  else clientGone?.addEventListener("abort", onGone, { once: true });
  return {
    cancel() {
      clientGone?.removeEventListener("abort", onGone);
      lease.cancel();
      drain?.cancel();
    },
  };
}

/** Why we stopped reading an answer, for the client. */
export class GivenUp extends Error {
  override name = "GivenUp";
}
