import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { apply } from "@inference/ledger/apply";
import { type LapsedHold, type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import type { Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import type { Saga } from "@inference/ledger/saga";
import { openCommitter } from "./committer.ts";
import { isDiskFull, synchronousOf } from "./database.ts";
import { openRowCache } from "./row-cache.ts";

/**
 * The ledger on one machine: all partitions are in one SQLite file, with a cache of their rows in memory. A saga runs
 * as a whole, at once. One commit writes the changes of the sagas of a turn of the event loop, and no result is
 * returned before it is durable. A worker writes it, while the next one gathers.
 *
 * After a failed commit memory is ahead of the disk, so the process must end (`onFatal`) and start again from the disk.
 * A full disk is the exception: the cache is dropped, sagas with `untilDurable` are tried again, and others fail.
 */
export type NodeLedger = LedgerClient & {
  /** Makes the deliveries that an earlier process left in its outboxes. Returns their number. */
  recover(): Promise<number>;
  /** All holds. At the start no process works on them. */
  holds(): LapsedHold[];
  /** Commits what is pending. Resolves once it is durable, or has failed. */
  flush(): Promise<void>;
  /** As `flush`. Nothing is written after it. The caller closes the database. */
  close(): Promise<void>;
};

export type NodeLedgerOptions = {
  now(): number;
  /** The number of this start: the file may be an older copy. */
  epoch: number;
  onAlert(message: string): void;
  /** The ledger has stopped, and the process must end. */
  onFatal(error: unknown): void;
  /** Called before and after every commit, with the number of its rows. */
  onCommit?(stage: "before" | "after", rows: number): void;
};

const FULL_DISK_RETRY_MS = 250;
/** Time between two tries of a failed delivery. */
const REDELIVER_MS = 600_000;

export function openNodeLedger(database: DatabaseSync, options: NodeLedgerOptions): NodeLedger {
  const rows = openRowCache(database);
  const committer = openCommitter({ file: database.location() ?? "", synchronous: synchronousOf(database) });
  /** Those who wait for the next commit, if there are any. */
  let waiting: PromiseWithResolvers<boolean> | undefined;
  /** Whether a commit is due or being written. It is, while anything in memory is not durable. */
  let isCommitting = false;
  /** While the disk is full: the next try. */
  let room: Promise<void> | undefined;
  /** Whether the last commit found the disk full, and the operator knows. */
  let isFull = false;
  let dead = false;
  let redelivers = false;

  /** Applies a command and the deliveries that it causes, in one commit. */
  function execute(partition: Partition, command: Command): Reply {
    const outcome = apply(partition, rows.partition(partition), command, {
      clockMs: options.now(),
      epoch: options.epoch,
    });
    rows.write(partition, outcome.changes);
    schedule();
    for (const alert of outcome.alerts) options.onAlert(`${partition}: ${alert}`);
    for (const delivery of outcome.deliveries) {
      if (deliver(partition, delivery.id, () => execute(delivery.target, delivery.command))) continue;
      rows.write(partition, [outboxChange(delivery)]);
      redeliverLater();
    }
    return outcome.reply;
  }

  /** Whether a delivery was made. A failed one stays in the outbox, and is made again later. */
  function deliver(partition: Partition, id: string, make: () => Reply): boolean {
    try {
      make();
      return true;
    } catch (error) {
      options.onAlert(`${partition}: the delivery ${id} failed, and waits in the outbox: ${String(error)}`);
      return false;
    }
  }

  function redeliverLater(): void {
    if (redelivers) return;
    redelivers = true;
    setTimeout(() => void redeliver(), REDELIVER_MS).unref();
  }

  async function redeliver(): Promise<number> {
    redelivers = false;
    await flush();
    if (!isWritable()) {
      redeliverLater();
      return 0;
    }
    // Those on disk that were not acknowledged in memory since.
    const left = rows.outbox().filter(({ partition, row }) => rows.partition(partition).get("outbox", row.id));
    for (const { partition, row } of left) {
      // As the command `acknowledge` does.
      if (deliver(partition, row.id, () => execute(row.target, JSON.parse(row.command) as Command))) {
        rows.write(partition, [{ table: "outbox", id: row.id, row: null }]);
      } else redeliverLater();
    }
    return left.length;
  }

  function runWhole<T>(saga: Saga<T>): T {
    let step = saga.next();
    while (!step.done) {
      let reply: Reply;
      try {
        reply = execute(step.value.partition, step.value.command);
      } catch (error) {
        undo(saga, error);
        throw error;
      }
      step = saga.next(reply);
    }
    return step.value;
  }

  /** Lets a saga undo its earlier steps after a failed one. Throws if it does not, or cannot. */
  function undo(saga: Saga<unknown>, error: unknown): void {
    let step = saga.throw(error);
    while (!step.done) step = saga.next(execute(step.value.partition, step.value.command));
  }

  async function run<T>(saga: () => Saga<T>, options: { untilDurable?: boolean } = {}): Promise<T> {
    if (options.untilDurable && room !== undefined) await room;
    if (!isWritable()) throw new LedgerUnavailable("the ledger cannot write");
    // If it throws, steps that it did not undo stay, as after a crash between steps.
    const result = runWhole(saga());
    if (await durable()) return result;
    if (options.untilDurable) return run(saga, options);
    throw new LedgerUnavailable("the ledger could not write");
  }

  function isWritable(): boolean {
    return room === undefined && !dead;
  }

  /** Resolves once every change in memory is durable. False: that failed, and it is no longer in memory. */
  function durable(): true | Promise<boolean> {
    if (!isCommitting) return true;
    waiting ??= Promise.withResolvers();
    return waiting.promise;
  }

  /** Begins a commit at the end of the turn. Changes during a commit go into the next one. */
  function schedule(): void {
    if (isCommitting) return;
    isCommitting = true;
    setImmediate(commit);
  }

  async function commit(): Promise<void> {
    let group: typeof waiting;
    try {
      group = waiting;
      waiting = undefined;
      const count = rows.pendingRows();
      if (count > 0) {
        options.onCommit?.("before", count);
        await committer.commit(rows.take());
        rows.committed();
        isFull = false;
        options.onCommit?.("after", count);
      }
      group?.resolve(true);
    } catch (error) {
      group?.resolve(false);
      fail(error);
    }
    isCommitting = false;
    if (waiting !== undefined || rows.pendingRows() > 0) schedule();
  }

  /**
   * Answers a question from memory, and resolves once that state is durable. If the commit fails, memory is dropped and
   * the question is answered again.
   */
  async function ask<T>(question: () => T): Promise<T> {
    const result = question();
    return (await durable()) ? result : ask(question);
  }

  /** Also for queries that read the tables alone: afterwards the tables have every answered change. */
  async function flush(): Promise<void> {
    await durable();
  }

  /** Drops from memory what is not durable. Unless the disk is full, the ledger ends. */
  function fail(error: unknown): void {
    rows.discard();
    // Those who ran during a failed commit have seen what was not written.
    waiting?.resolve(false);
    waiting = undefined;
    if (isDiskFull(error)) {
      if (!isFull) options.onAlert("the disk is full: nothing new is admitted until there is room");
      isFull = true;
      room = sleep(FULL_DISK_RETRY_MS).then(() => {
        room = undefined;
      });
    } else if (!dead) {
      dead = true;
      options.onFatal(error);
      void committer.stop();
    }
  }

  return {
    run,
    flush,
    async close() {
      await flush();
      await committer.stop();
    },
    get writable() {
      return isWritable();
    },
    read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
      return ask(() => answer(rows.partition(partition), query));
    },
    async lapsedHolds(at, limit) {
      await flush();
      // The caller's clock may have jumped. No lease lapses before the ledger's clock says so.
      return rows.holds(Math.min(at, options.now()), limit);
    },
    async due(table, at, page) {
      await flush();
      return rows.due(table, at, page);
    },
    async overdue(table, before, page) {
      await flush();
      return rows.overdue(table, before, page);
    },
    holds: () => rows.holds(Number.MAX_SAFE_INTEGER, 1_000_000),
    async recover() {
      const count = await redeliver();
      await flush();
      return count;
    },
  };
}
