import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import type { Saga } from "@inference/ledger/saga";
import type { Bindings } from "./bindings.ts";

/** The ledger at the edge: each step of a saga is a call to the object of its partition. */
export function makeEdgeLedger({ PARTITION }: Pick<Bindings, "PARTITION">): LedgerClient {
  const objectOf = (partition: Partition) => PARTITION.get(PARTITION.idFromName(partition));

  async function execute(partition: Partition, command: Command): Promise<Reply> {
    try {
      return (await objectOf(partition).execute(partition, command)) as Reply;
    } catch {
      try {
        // The first call may have taken effect: every command is safe to repeat.
        return (await objectOf(partition).execute(partition, command)) as Reply;
      } catch (error) {
        throw new LedgerUnavailable(String(error));
      }
    }
  }

  return {
    writable: true,
    async run<T>(saga: () => Saga<T>): Promise<T> {
      const steps = saga();
      let step = steps.next();
      while (!step.done) step = steps.next(await execute(step.value.partition, step.value.command));
      return step.value;
    },
    async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
      return (await objectOf(partition).read(partition, query)) as AnswerOf<Q>;
    },
    // Each object looks after its own rows: there is no one place that knows them all.
    lapsedHolds: async () => [],
    overdue: async () => ({ rows: [], next: null }),
  };
}
