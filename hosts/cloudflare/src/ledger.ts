import { type AccountPage, type DueTable, type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { AnswerOf, Query } from "@inference/ledger/reads";
import type { Saga, Step } from "@inference/ledger/saga";
import { pause, resultWithin } from "@inference/protocol/timers";
import { type Bindings, objectOf } from "./bindings.ts";
import type { Outcome } from "./deliveries.ts";
import { log } from "./log.ts";
import type { OwnRows } from "./own-rows.ts";
import { timers } from "./timers.ts";

/** The calls of a partition's object, from outside or from the object itself. */
export type PartitionCalls = {
  execute(partition: Partition, command: Command): Promise<Reply>;
  executeAll(partition: Partition, commands: readonly Command[]): Promise<readonly Outcome[]>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
};

export type EdgeLedger = LedgerClient & Pick<PartitionCalls, "executeAll">;

/** The object that uses the ledger, if one does: it calls itself directly, and has only its own rows. */
type OwnPartition = PartitionCalls & { isOwn(partition: Partition): boolean; rows: OwnRows };

type Host = {
  /** Keeps work running after its answer was sent. */
  background(work: Promise<unknown>): void;
  own?: OwnPartition;
};

/**
 * The ledger at the edge: each step of a saga is a call to the object of its partition. A failed call may have taken
 * effect. Every command is safe to repeat, so the call is made again. The steps that undo a failed saga are tried for
 * longer, in the background.
 */
export function makeEdgeLedger(
  bindings: Pick<Bindings, "PARTITION" | "LOCATION_HINT">,
  { background, own }: Host,
): EdgeLedger {
  // Each try uses a new stub, because a stub may be broken after an error.
  const partitionOf = (partition: Partition): PartitionCalls =>
    own?.isOwn(partition) ? own : objectOf<PartitionCalls>(bindings.PARTITION, partition, bindings);

  async function insist<T>(partition: Partition, call: (object: PartitionCalls) => Promise<T>, mostTries: number) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(partitionOf(partition));
      } catch (error) {
        // An account that overloads its object is not to gain by it: the end of its requests is written all the same.
        if (tries >= mostTries || (isOverloaded(error) && mostTries < LASTING_TRIES))
          throw new LedgerUnavailable(String(error));
        await pause(timers, PAUSE_MS * 2 ** tries * (0.5 + Math.random() / 2));
      }
    }
  }

  function send({ partition, command }: Step, mostTries: number): Promise<Reply> {
    return insist(partition, (object) => object.execute(partition, command), mostTries);
  }

  /** Throws the error of a step that the saga cannot do without. */
  async function take<T>(steps: Saga<T>, step: Step, mostTries: number): Promise<IteratorResult<Step, T>> {
    let reply: Reply;
    try {
      reply = await send(step, mostTries);
    } catch (error) {
      if (step.isOptional !== true) throw error;
      return steps.throw(error);
    }
    return steps.next(reply);
  }

  /** Never throws. The sweeper ends what cannot be undone. */
  async function undo(steps: Saga<unknown>, failure: unknown): Promise<void> {
    try {
      let step = steps.throw(failure);
      while (!step.done) step = await take(steps, step.value, LASTING_TRIES);
    } catch (error) {
      if (error !== failure) log("warn", "undo_failed", { error: String(error) });
    }
  }

  const run: EdgeLedger["run"] = async (saga, { untilDurable = false, insist: insists = false } = {}) => {
    const mostTries = untilDurable ? LASTING_TRIES : insists ? INSISTING_TRIES : USUAL_TRIES;
    const steps = saga();
    let step = steps.next();
    while (!step.done) {
      try {
        step = await take(steps, step.value, mostTries);
      } catch (error) {
        const undone = undo(steps, error);
        background(undone);
        await resultWithin(timers, UNDO_WAIT_MS, undone).catch(() => undefined);
        throw error;
      }
    }
    return step.value;
  };

  return {
    writable: true,
    run,
    executeAll: (partition, commands) =>
      insist(partition, (object) => object.executeAll(partition, commands), USUAL_TRIES),
    read: (partition, query) => insist(partition, (object) => object.read(partition, query), USUAL_TRIES),
    // Each object has only its own rows. No place has all of them.
    lapsedHolds: async (at, limit) => own?.rows.lapsedHolds(at, limit) ?? [],
    due: async (table, at, page) => dueIn(own?.rows, table, at, page),
    overdue: async (table, before, page) => own?.rows.overdue(table, before, page) ?? { rows: [], next: null },
  };
}

function dueIn(rows: OwnRows | undefined, table: DueTable, at: number, { after }: AccountPage): Partition[] {
  const isDue = (rows?.dueAt(table) ?? Number.POSITIVE_INFINITY) <= at;
  if (rows === undefined || !isDue) return [];
  const partition = rows.partition();
  return after === null || partition > after ? [partition] : [];
}

const USUAL_TRIES = 2;
/** 1.5 to 3 s in total, for callers that wait. */
const INSISTING_TRIES = 6;
/**
 * 13 to 25 s in total, for the end of a request and for an undo, whose callers wait for a second or two: a Worker may
 * run for 30 s after its answer or its client's departure. The sweeper ends what still fails.
 */
const LASTING_TRIES = 9;
/** How long the caller waits for the undo, so that an immediate retry usually finds no old hold. */
const UNDO_WAIT_MS = 1_000;
const PAUSE_MS = 50;

function isOverloaded(error: unknown): boolean {
  return (error as { overloaded?: unknown } | null)?.overloaded === true;
}
