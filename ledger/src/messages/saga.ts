import type { Command, Reply, ReplyOf } from "./commands.ts";
import type { Partition } from "./partition.ts";

/**
 * Commands that belong together, as a generator: it yields a command for a partition and receives the reply. It does no
 * I/O, so each host runs it in its own way: on one machine in one turn and one commit, at the edge with a call to an
 * object for each step. Every step is safe to repeat. A saga that stops between two steps leaves only a hold, which the
 * sweeper ends.
 *
 * The error of a failed step is thrown into the saga. The step may have taken effect, or may do so later. The saga may
 * yield further steps to undo it, and rethrows the error for the caller.
 */
export type Step = {
  partition: Partition;
  command: Command;
  /** The saga catches its error and goes on. A host then does not undo it. */
  isOptional?: true;
};
export type Saga<T> = Generator<Step, T, Reply>;

/** A step whose failure the saga catches. */
export function* attempt<C extends Command>(partition: Partition, command: C): Generator<Step, ReplyOf<C>, Reply> {
  return (yield { partition, command, isOptional: true }) as ReplyOf<C>;
}

/** One step, with the reply's type: `const reply = yield* send(partition, command)`. */
export function* send<C extends Command>(partition: Partition, command: C): Generator<Step, ReplyOf<C>, Reply> {
  return (yield { partition, command }) as ReplyOf<C>;
}
