import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";

/** What a deadline needs to know of the call that it is for. */
type Timed = {
  /** The time of admission. */
  at: number;
  clientGone: AbortSignal | null;
  /** Whether the answer is being sent as it comes. */
  isStreaming(): boolean;
  abort(): void;
};

/**
 * Aborts a call when its time is over: where nothing of an answer has come, or not all of one that comes whole; a
 * minute before its lease, so that no hold lapses under a live request; and a while after its client has gone, whatever
 * it is waiting for then.
 */
export function startDeadline({ environment, config }: Gateway, call: Timed): { cancel(): void } {
  const { clock, timers } = environment;
  const { clientGone } = call;
  const over = (): void => call.abort();
  // From admission on, as the lease is: reading the body and reserving have taken of it already.
  const left = Math.min(Math.max(0, call.at + limits.requestMs - clock.now()), limits.requestMs);
  const { answerMs } = config.request;
  let lease = answerMs < left ? timers.after(answerMs, unanswered) : timers.after(left, over);
  let drain: { cancel(): void } | undefined;
  function unanswered(): void {
    if (call.isStreaming()) lease = timers.after(left - answerMs, over);
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
