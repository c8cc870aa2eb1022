import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import type { Saga, Step } from "@inference/ledger/saga";
import type { Bindings } from "./bindings.ts";
import type { Outcome } from "./deliveries.ts";
import { log } from "./log.ts";
import type { OwnRows } from "./own-rows.ts";
import { timers } from "./timers.ts";

/** A partition as it is called: an object, from afar or from within itself. */
export type PartitionCalls = {
  execute(partition: Partition, command: Command): Promise<Reply>;
  executeAll(partition: Partition, commands: readonly Command[]): Promise<readonly Outcome[]>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
};

export type EdgeLedger = LedgerClient & Pick<PartitionCalls, "executeAll">;

/** The object that a ledger is used from: it calls itself without leaving, and sees to its own rows alone. */
type OwnPartition = PartitionCalls & { isOwn(partition: Partition): boolean; rows: OwnRows };

type Host = {
  /** Waits for work that goes on after its answer has left. */
  background(work: Promise<unknown>): void;
  own?: OwnPartition;
};

/**
 * The ledger at the edge: each step of a saga is a call to the object of its partition. A call that failed may have
 * taken effect, and every command is safe to repeat, so it is made again. What a saga does to undo a step that failed
 * all the same is tried for longer, in the background.
 */
export function makeEdgeLedger({ PARTITION }: Pick<Bindings, "PARTITION">, { background, own }: Host): EdgeLedger {
  // An object that threw is asked through a new stub: the old one may be broken.
  const objectOf = (partition: Partition): PartitionCalls =>
    own?.isOwn(partition) ? own : (PARTITION.get(PARTITION.idFromName(partition)) as unknown as PartitionCalls);

  async function insist<T>(partition: Partition, call: (object: PartitionCalls) => Promise<T>, mostTries: number) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(objectOf(partition));
      } catch (error) {
        if (tries >= mostTries || isOverloaded(error)) throw new LedgerUnavailable(String(error));
        await pause(PAUSE_MS * 2 ** tries * (0.5 + Math.random() / 2));
      }
    }
  }

  function send({ partition, command }: Step, mostTries: number): Promise<Reply> {
    return insist(partition, (object) => object.execute(partition, command), mostTries);
  }

  /** Never throws: what cannot be undone is the sweeper's. */
  async function undo(steps: Saga<unknown>, failure: unknown): Promise<void> {
    try {
      let step = steps.throw(failure);
      while (!step.done) step = steps.next(await send(step.value, UNDO_TRIES));
    } catch (error) {
      if (error !== failure) log("warn", "undo_failed", { error: String(error) });
    }
  }

  return {
    writable: true,
    async run<T>(saga: () => Saga<T>, { untilDurable = false, insist: insists = false } = {}): Promise<T> {
      const mostTries = untilDurable || insists ? DURABLE_TRIES : USUAL_TRIES;
      const steps = saga();
      let step = steps.next();
      while (!step.done) {
        let reply: Reply;
        try {
          reply = await send(step.value, mostTries);
        } catch (error) {
          const undone = undo(steps, error);
          background(undone);
          await overWithin(undone, UNDO_WAIT_MS);
          throw error;
        }
        step = steps.next(reply);
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
/** 1.5 to 3 s in all: what is left after draining must do. What still fails is the sweeper's. */
const DURABLE_TRIES = 6;
/** 13 to 25 s in all: a Worker may go on for 30 s after its answer. */
const UNDO_TRIES = 9;
/** How long the caller waits for it, so that whoever asks again at once finds nothing held. */
const UNDO_WAIT_MS = 1_000;
const PAUSE_MS = 50;

/** Waits for some work, but no longer than this. Leaves no timer: while one is pending an object does not hibernate. */
function overWithin(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, resolve);
    void work.then(() => {
      timer.cancel();
      resolve();
    });
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function isOverloaded(error: unknown): boolean {
  return (error as { overloaded?: unknown } | null)?.overloaded === true;
}
