import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import type { Saga } from "@inference/ledger/saga";
import type { Bindings } from "./bindings.ts";
import type { Outcome } from "./deliveries.ts";
import type { OwnRows } from "./own-rows.ts";

/** A partition as it is called: an object, from afar or from within itself. */
type PartitionCalls = {
  execute(partition: Partition, command: Command): Promise<Reply>;
  executeAll(partition: Partition, commands: readonly Command[]): Promise<readonly Outcome[]>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
};

export type EdgeLedger = LedgerClient & Pick<PartitionCalls, "executeAll">;

/** The object that a ledger is used from: it calls itself without leaving, and sees to its own rows alone. */
type OwnPartition = PartitionCalls & { isOwn(partition: Partition): boolean; rows: OwnRows };

/**
 * The ledger at the edge: each step of a saga is a call to the object of its partition. A call that failed may have
 * taken effect, and every command is safe to repeat, so it is made again.
 */
export function makeEdgeLedger({ PARTITION }: Pick<Bindings, "PARTITION">, own?: OwnPartition): EdgeLedger {
  // An object that threw is asked through a new stub: the old one may be broken.
  const objectOf = (partition: Partition): PartitionCalls =>
    own?.isOwn(partition) ? own : (PARTITION.get(PARTITION.idFromName(partition)) as unknown as PartitionCalls);

  async function insist<T>(partition: Partition, call: (object: PartitionCalls) => Promise<T>, mostTries: number) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(objectOf(partition));
      } catch (error) {
        if (tries >= mostTries || isOverloaded(error)) throw new LedgerUnavailable(String(error));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** tries * Math.random()));
      }
    }
  }

  return {
    writable: true,
    async run<T>(saga: () => Saga<T>, { untilDurable = false } = {}): Promise<T> {
      const mostTries = untilDurable ? DURABLE_TRIES : USUAL_TRIES;
      const steps = saga();
      let step = steps.next();
      while (!step.done) {
        const { partition, command } = step.value;
        step = steps.next(await insist(partition, (object) => object.execute(partition, command), mostTries));
      }
      return step.value;
    },
    executeAll: (partition, commands) =>
      insist(partition, (object) => object.executeAll(partition, commands), USUAL_TRIES),
    read: (partition, query) => insist(partition, (object) => object.read(partition, query), USUAL_TRIES),
    // Each object looks after its own rows: there is no one place that knows them all.
    lapsedHolds: async (at, limit) => own?.rows.lapsedHolds(at, limit) ?? [],
    overdue: async (table, before, page) => own?.rows.overdue(table, before, page) ?? { rows: [], next: null },
  };
}

const USUAL_TRIES = 2;
/** About 3 s in all: what is left after draining must do. What still fails is the sweeper's. */
const DURABLE_TRIES = 6;
const PAUSE_MS = 50;

function isOverloaded(error: unknown): boolean {
  return (error as { overloaded?: unknown } | null)?.overloaded === true;
}
