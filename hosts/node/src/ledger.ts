import type { DatabaseSync } from "node:sqlite";
import { apply } from "@inference/ledger/apply";
import { type LapsedHold, type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import { isAcknowledged, outboxChange } from "@inference/ledger/delivery";
import type { Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import { reserveRequest } from "@inference/ledger/reservation";
import type { Saga } from "@inference/ledger/saga";
import type { HoldRow } from "@inference/ledger/tables";
import type { NanoUsd } from "@inference/protocol/money";
import { openCharges } from "./charges.ts";
import { isDiskFull, synchronousOf } from "./database.ts";
import { foldedUntil } from "./fold.ts";
import { openFolding } from "./folding.ts";
import { openLogFiles } from "./log-files.ts";
import { openRowCache } from "./row-cache.ts";

/**
 * The ledger on one machine: all partitions are in one SQLite file, with a cache of their rows in memory. A saga runs
 * as a whole, at once. One commit writes the changes of many sagas as one row of a log, and no result is returned
 * before it. Between commits the log is folded into the tables.
 *
 * After a failed commit memory is ahead of the disk, so the process must end (`onFatal`) and start again from the disk.
 * A full disk is the exception: the cache is dropped, sagas with `untilDurable` are tried again, and others fail.
 */
export type NodeLedger = LedgerClient & {
  /** Makes the deliveries that an earlier process left in its outboxes. Returns their number. */
  recover(): Promise<number>;
  /** The deliveries on disk that are not acknowledged. */
  undelivered(): number;
  /** The owners' unresolved holds. At the start no process works on them. */
  unresolvedHolds(): LapsedHold[];
  /** What accounts were charged for requests that were admitted on a UTC day. Their receipts must still be kept. */
  chargedOn(day: string): Promise<NanoUsd>;
  /** Commits what is pending. Resolves once it is durable and, if the tables can be written, folded. */
  flush(): Promise<void>;
  /** As `flush`. Nothing is written after it. The caller closes the database. */
  close(): Promise<void>;
};

export type NodeLedgerOptions = {
  now(): number;
  onAlert(message: string): void;
  /** The ledger has stopped, and the process must end. */
  onFatal(error: unknown): void;
  /** Called before and after every commit, with the number of its rows. */
  onCommit?(stage: "before" | "after", rows: number): void;
};

type Waiting = {
  saga: () => Saga<unknown>;
  untilDurable: boolean;
  result: unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
};

const FULL_DISK_RETRY_MS = 250;
/** Time between two tries of a failed delivery. */
const REDELIVER_MS = 600_000;

export function openNodeLedger(database: DatabaseSync, options: NodeLedgerOptions): NodeLedger {
  const rows = openRowCache(database);
  const place = { file: database.location() ?? "", synchronous: synchronousOf(database) };
  const log = openLogFiles(place.file, foldedUntil(database), place.synchronous);
  const folding = openFolding(place, log, { onFolded: rows.folded, onFailed: (error) => stop(error) });
  let waiting: Waiting[] = [];
  let gathering = false;
  let committing = false;
  let writable = true;
  let dead = false;
  let redelivers = false;

  /** Applies a command and the deliveries that it causes, in one commit. */
  function execute(partition: Partition, command: Command): Reply {
    const outcome = apply(partition, rows.partition(partition), command, options.now());
    rows.write(partition, outcome.changes);
    for (const alert of outcome.alerts) options.onAlert(`${partition}: ${alert}`);
    for (const delivery of outcome.deliveries) {
      if (deliver(partition, delivery.id, () => execute(delivery.target, delivery.command))) continue;
      rows.write(partition, [outboxChange(delivery)]);
      redeliverLater();
    }
    return outcome.reply;
  }

  /** Whether a delivery was acknowledged. A failed one stays in the outbox, and is made again later. */
  function deliver(partition: Partition, id: string, make: () => Reply): boolean {
    try {
      return isAcknowledged(make());
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

  /** Deliveries on disk that were not acknowledged in memory since. */
  function undelivered() {
    return rows.outbox().filter(({ partition, row }) => rows.partition(partition).get("outbox", row.id));
  }

  async function redeliver(): Promise<number> {
    redelivers = false;
    if (dead) return 0;
    try {
      await tablesAreTrue();
    } catch {
      redeliverLater();
      return 0;
    }
    if (!writable) {
      redeliverLater();
      return 0;
    }
    const left = undelivered();
    for (const { partition, row } of left) {
      // As the command `acknowledge` does.
      if (deliver(partition, row.id, () => execute(row.target, JSON.parse(row.command) as Command))) {
        rows.write(partition, [{ table: "outbox", id: row.id, row: null }]);
      } else redeliverLater();
    }
    if (rows.pendingRows() > 0) schedule();
    return left.length;
  }

  function runWhole(saga: Saga<unknown>): unknown {
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

  function run<T>(saga: () => Saga<T>, { untilDurable = false } = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (dead || (!isWritable() && !untilDurable)) reject(new LedgerUnavailable("the ledger cannot write"));
      else enqueue({ saga, untilDurable, result: undefined, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  function isWritable(): boolean {
    return writable && !dead;
  }

  function enqueue(entry: Waiting): void {
    if (writable) {
      try {
        entry.result = runWhole(entry.saga());
      } catch (error) {
        // A bug in the middle of a saga. Steps that were not undone stay, as after a crash between steps.
        entry.reject(error);
        schedule();
        return;
      }
    }
    waiting.push(entry);
    schedule();
  }

  /** Begins a commit at the end of the turn. What comes while it is written is in the next one. */
  function schedule(): void {
    // While the disk is full a retry is scheduled already.
    if (gathering || !writable) return;
    gathering = true;
    setImmediate(begin);
  }

  /** Commits all waiting sagas, and resolves them. The end of a commit begins the next. */
  function begin(): void {
    gathering = false;
    // Not writable: scheduled before the disk was full. The waiting sagas are no longer in memory, and are run again.
    if (committing || (!writable && !dead)) return;
    const group = waiting;
    waiting = [];
    if (dead) failed(group, new LedgerUnavailable("the ledger has stopped"));
    else if (rows.pendingRows() === 0) resolveAll(group);
    else void commit(group);
  }

  async function commit(group: Waiting[]): Promise<void> {
    committing = true;
    try {
      await folding.keepUp();
      if (dead) throw new LedgerUnavailable("the ledger has stopped");
      const count = rows.pendingRows();
      options.onCommit?.("before", count);
      // The record is a view of a buffer that the next one is written to.
      await log.append(rows.take());
      folding.soon();
      options.onCommit?.("after", count);
    } catch (error) {
      committing = false;
      // Those that ran meanwhile have seen what was not written.
      failed([...group, ...waiting.splice(0)], error);
      return;
    }
    committing = false;
    resolveAll(group);
    if (waiting.length > 0 || rows.pendingRows() > 0) begin();
  }

  /**
   * Answers a question from memory, and resolves once that state is durable. If the commit fails, memory is dropped and
   * the question is answered again.
   */
  async function ask<T>(question: () => T): Promise<T> {
    if ((rows.pendingRows() === 0 && !committing) || !isWritable()) return question();
    const result = question();
    return new Promise<T>((resolve) => {
      waiting.push({
        saga: readNothing,
        untilDurable: false,
        result,
        resolve: resolve as (value: unknown) => void,
        reject: () => resolve(ask(question)),
      });
      schedule();
    });
  }

  /** Waits until all answered changes are in the tables, for queries that do not read memory. */
  async function tablesAreTrue(): Promise<void> {
    await ask(nothing);
    await folding.all();
  }

  async function flush(): Promise<void> {
    await ask(nothing);
    // Rows that cannot be folded now are still durable.
    await folding.all().catch(nothing);
  }

  /** The log cannot be folded. The next process that opens the file folds it. */
  function stop(error: unknown): void {
    const group = waiting;
    waiting = [];
    failed(group, error);
  }

  function failed(group: Waiting[], error: unknown): void {
    rows.discard(log.unfolded(), log.last);
    if (!isDiskFull(error)) {
      rejectAll(group);
      if (!dead) options.onFatal(error);
      dead = true;
      void folding.stop();
      return;
    }
    if (writable) options.onAlert("the disk is full: nothing new is admitted until there is room");
    writable = false;
    rejectAll(group.filter((entry) => !entry.untilDurable));
    waiting.push(...group.filter((entry) => entry.untilDurable));
    setTimeout(retryAfterFullDisk, FULL_DISK_RETRY_MS);
  }

  function retryAfterFullDisk(): void {
    const group = waiting;
    waiting = [];
    writable = true;
    for (const entry of group) enqueue(entry);
  }

  return {
    run,
    reserve: (reservation) => run(() => reserveRequest(reservation)),
    flush,
    async close() {
      await flush();
      await folding.stop();
      log.close();
    },
    get writable() {
      return isWritable();
    },
    read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
      return ask(() => answer(rows.partition(partition), query));
    },
    async lapsedHolds(at, limit) {
      await tablesAreTrue();
      // The caller's clock may have jumped. No lease lapses before the ledger's clock says so.
      return rows.unresolvedHolds(Math.min(at, options.now()), limit);
    },
    async overdue(table, before, page) {
      await tablesAreTrue();
      return rows.overdue(table, before, page);
    },
    async chargedOn(day) {
      await tablesAreTrue();
      const charged = openCharges(database, Date.parse(day));
      // A page takes some milliseconds, for which requests wait.
      while (charged.next()) await new Promise((resolve) => setImmediate(resolve));
      return charged.sumNanoUsd();
    },
    undelivered: () => undelivered().length,
    unresolvedHolds: () => rows.unresolvedHolds(Number.MAX_SAFE_INTEGER, 1_000_000).filter(isOwned),
    async recover() {
      const count = await redeliver();
      await flush();
      return count;
    },
  };
}

/** A saga without steps, for reads that wait for a commit. */
function readNothing(): Saga<undefined> {
  return [][Symbol.iterator]() as unknown as Saga<undefined>;
}

function nothing(): void {}

function resolveAll(group: Waiting[]): void {
  for (const entry of group) entry.resolve(entry.result);
}

function rejectAll(group: Waiting[]): void {
  for (const entry of group) entry.reject(new LedgerUnavailable("the ledger could not write"));
}

function isOwned({ partition, hold }: { partition: Partition; hold: HoldRow }): boolean {
  return hold.owner === partition;
}
