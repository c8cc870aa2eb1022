import type { Command, Reply, ReplyOf } from "./commands.ts";
import type { Partition } from "./partition.ts";

/**
 * Several commands that belong together, as a generator: it yields a command for a partition and is given the reply. It
 * does no I/O, so each host runs the same saga its own way: on one machine in one turn and one commit, at the edge with
 * a call to an object for each step. Every step is safe to repeat, and a saga that stops between two steps leaves
 * nothing but a hold that the sweeper ends.
 *
 * A step that failed is thrown into the saga. It may have taken effect, and may still do so. The saga may yield further
 * steps to undo what was done, and rethrows: the caller is told of the failure in any case.
 */
export type Step = { partition: Partition; command: Command };
export type Saga<T> = Generator<Step, T, Reply>;

/** One step, with the reply's type: `const reply = yield* send(partition, command)`. */
export function* send<C extends Command>(partition: Partition, command: C): Generator<Step, ReplyOf<C>, Reply> {
  return (yield { partition, command }) as ReplyOf<C>;
}
