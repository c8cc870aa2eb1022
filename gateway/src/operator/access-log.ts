import type { NanoUsd } from "@inference/protocol/money";
import type { Environment } from "../environment.ts";

/**
 * One line a request, for an operator who asks for it (ACCESS_LOG): no content, no account, no address. The line of an
 * admitted request is written at its end, when its cost is known, which for a stream is after its answer began.
 */
export type AccessLog = {
  /** The request is answered, or its stream begins. */
  answered(id: string, answer: Answered): void;
  /** An admitted request ended, before or after its answer. Null: its charge is not known here. */
  ended(id: string, served: Served | null): void;
};

export type Answered = { at: number; route: string; status: number; code: string | null };
type Served = { model: string; costNanoUsd: NanoUsd };

/** @param live The ids of the admitted requests that have not ended. */
export function makeAccessLog(
  { clock, log }: Pick<Environment, "clock" | "log">,
  live: ReadonlySet<string>,
): AccessLog {
  const answers = new Map<string, Answered>();
  const ends = new Map<string, Served | null>();

  function write(request: string, { at, ...answer }: Answered, served: Served | null): void {
    const { model = null, costNanoUsd = null } = served ?? {};
    log("info", "access", { request, ...answer, ms: clock.now() - at, model, costNanoUsd });
  }

  return {
    answered(id, answer) {
      if (live.has(id)) answers.set(id, answer);
      else write(id, answer, ends.get(id) ?? null);
      ends.delete(id);
    },
    ended(id, served) {
      const answer = answers.get(id);
      if (answer === undefined) ends.set(id, served);
      else write(id, answer, served);
      answers.delete(id);
    },
  };
}
