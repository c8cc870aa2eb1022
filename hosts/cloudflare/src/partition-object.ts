import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import type { Gateway } from "@inference/gateway/gateway";
import { forgetAll } from "@inference/gateway/jobs/forget";
import { sweep } from "@inference/gateway/jobs/sweep";
import { apply } from "@inference/ledger/apply";
import type { Command, Reply } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import { isUnresolved } from "@inference/ledger/hold";
import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import type { Change, HoldRow, OutboxRow } from "@inference/ledger/tables";
import { forgettableTables } from "@inference/ledger/walks";
import { within } from "@inference/protocol/timers";
import type { Bindings } from "./bindings.ts";
import { makeDeliveries, type Outcome } from "./deliveries.ts";
import { openEdgeGateway } from "./edge-gateway.ts";
import { type GroupCommit, makeGroupCommit } from "./group-commit.ts";
import { type EdgeLedger, makeEdgeLedger, type PartitionCalls } from "./ledger.ts";
import { log } from "./log.ts";
import { MOST_UNDELIVERED, type OwnRows, openOwnRows } from "./own-rows.ts";
import { type LogBounds, usualBounds } from "./row-log.ts";
import { receiptMsOf } from "./settings.ts";
import { timers } from "./timers.ts";

/**
 * One partition of the ledger: an object with an SQLite of its own. Commands that come while a commit is on its way to
 * the disk are one commit, the next, and the output gate keeps all their replies back until it is durable.
 *
 * Deliveries begin as soon as they are written down. Its one alarm is for all else that it has to do by itself:
 * deliveries that are left, holds whose lease lapsed, rows whose time is over. It is set with each hold for the end of
 * its lease, so a delivery costs no alarm of its own. What died with the object, or was not written down as made, goes
 * with its next deliveries, by the next question to it, or with that lease. Alarms come at least once and are given up
 * when they fail too often, so none ever fails, each sets the next one, and a call that finds none where there should
 * be one sets it.
 */
export class PartitionObject extends DurableObject<Bindings> implements PartitionCalls {
  /** Of the instance, for what is of the class can be called from afar. */
  protected readonly ownRows: OwnRows;
  readonly #commits: GroupCommit;
  /** What the next commit writes. */
  #gathered: Change[] = [];
  readonly #ledger: EdgeLedger;
  readonly #deliver: () => Promise<void>;
  readonly #receiptMs: number;
  /** How long after the first row is over it is forgotten, with those that are over by then. */
  readonly #forgetEveryMs: number;
  #gateway: Gateway | undefined;
  /** When it forgot last, as far as is known: what it had to keep, it looks at again as long after. */
  #forgotAt = 0;
  /** When the alarm rings next; null: it is not set. */
  #alarmAt: number | null = null;
  /** The alarm is running: it sets the next one when it has done. */
  #isAtWork = false;
  /** The operator knows that nothing new is admitted: told again only once half of what is left has gone. */
  #isFullTold = false;

  constructor(ctx: DurableObjectState, env: Bindings, bounds: LogBounds = usualBounds) {
    super(ctx, env);
    this.ownRows = openOwnRows(ctx.storage, bounds);
    this.#commits = makeGroupCommit({ write: () => this.#write(), sync: () => ctx.storage.sync() });
    const isOwn = (partition: Partition) => ctx.id.equals(env.PARTITION.idFromName(partition));
    this.#receiptMs = receiptMsOf(env);
    this.#forgetEveryMs = isOwn(ceilingPartition) ? FORGET_CEILING_EVERY_MS : FORGET_EVERY_MS;
    this.#ledger = makeEdgeLedger(env, {
      background: (work) => ctx.waitUntil(work),
      own: {
        isOwn,
        rows: this.ownRows,
        execute: (partition, command) => this.execute(partition, command),
        executeAll: (partition, commands) => this.executeAll(partition, commands),
        read: (partition, query) => this.read(partition, query),
      },
    });
    this.#deliver = makeDeliveries({
      rows: { outbox: () => this.#durableOutbox() },
      send: this.#ledger.executeAll,
      acknowledge: (ids) => this.ownRows.acknowledge(ids),
    });
    ctx.blockConcurrencyWhile(async () => {
      this.#alarmAt = await ctx.storage.getAlarm();
    });
  }

  /** Applies a command. Repeating one is harmless, so a caller that got no reply may call again. */
  async execute(partition: Partition, command: Command): Promise<Reply> {
    const [outcome = { failed: "no reply" }] = await this.executeAll(partition, [command]);
    if ("failed" in outcome) throw new Error(outcome.failed);
    return outcome;
  }

  /** Several in their order, in one commit. One that fails has changed nothing, and keeps no other back. */
  async executeAll(partition: Partition, commands: readonly Command[]): Promise<Outcome[]> {
    const now = Date.now();
    const written: Change[] = [];
    const outcomes = commands.map((command): Outcome => {
      try {
        this.#assertRoom(partition, command);
        const { reply, changes, deliveries, alerts } = apply(partition, this.ownRows.of(partition), command, now);
        const all = [...changes, ...deliveries.map(outboxChange)];
        this.ownRows.write(partition, all);
        written.push(...all);
        for (const alert of alerts) log("alert", "ledger", { message: alert });
        return reply;
      } catch (error) {
        return { failed: String(error) };
      }
    });
    const unset = this.#isUnset();
    this.#gathered.push(...written);
    await (written.length > 0 ? this.#commits.join() : this.#commits.settled());
    // What changed nothing may have come again after its object died with what it was to deliver.
    if (written.length === 0 || written.some(({ table }) => table === "outbox")) this.#deliverLeft();
    if (unset) await this.#ringNext();
    return outcomes;
  }

  async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
    if (this.#isUnset()) await this.#ringNext();
    this.#deliverLeft();
    const found = answer(this.ownRows.of(partition), query);
    await this.#commits.settled();
    return found;
  }

  async alarm(): Promise<void> {
    this.#alarmAt = null;
    this.#isAtWork = true;
    try {
      const works = [() => this.#deliver(), () => this.#sweep(), () => this.#forget(), () => this.#commits.join()];
      // The last is for what was acknowledged since: an object that sleeps from here on makes no delivery again.
      for (const work of works) {
        await work().catch((error: unknown) => log("alert", "job_failed", { error: String(error) }));
      }
    } finally {
      this.#isAtWork = false;
      await this.#ringNext();
    }
  }

  /** Sets the alarm, unless it rings before. */
  async #ring(dueAt: number): Promise<void> {
    const at = Math.min(dueAt, Date.now() + FARTHEST_MS);
    if (this.#isAtWork || (!this.#isUnset() && this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#alarmAt = at;
    await this.ctx.storage.setAlarm(at);
  }

  /** Sets it by what is written, whatever it was set for. */
  async #ringNext(): Promise<void> {
    const now = Date.now();
    const due: number[] = [];
    // Acknowledged in memory alone it would be made again whenever this wakes, also in days.
    if (this.#hasUndelivered() || this.ownRows.hasAcknowledged()) due.push(now + DELIVER_AGAIN_MS);
    const lease = this.ownRows.firstLease();
    // A hold that stays, because its owner's is open or the ledger did not answer, is looked at again.
    if (lease !== undefined) due.push(lease < now ? now + SWEEP_AGAIN_MS : lease + 1);
    const forgetAt = this.#forgetAt();
    if (forgetAt !== undefined) due.push(forgetAt);
    if (due.length > 0) await this.#ring(Math.min(...due));
  }

  /** Also where it should have rung long ago: the runtime has given it up. */
  #isUnset(): boolean {
    return !this.#isAtWork && (this.#alarmAt === null || this.#alarmAt < Date.now() - GIVEN_UP_MS);
  }

  /** Without waiting for the alarm. Of the instance, for what is of the class can be called from afar. */
  protected deliverSoon = (): void => this.ctx.waitUntil(this.#deliverNow());

  #hasUndelivered(): boolean {
    return this.ownRows.undelivered() > 0;
  }

  /** Refuses what would make more to deliver. What is there already is answered as before. */
  #assertRoom(partition: Partition, command: Command): void {
    if (command.type !== "reserve") return;
    const left = this.ownRows.undelivered();
    if (left < MOST_UNDELIVERED / 2) this.#isFullTold = false;
    if (left < MOST_UNDELIVERED || this.ownRows.of(partition).get("hold", command.id) !== undefined) return;
    if (!this.#isFullTold) log("alert", "ledger", { message: `${partition}: ${FULL}` });
    this.#isFullTold = true;
    throw new Error(FULL);
  }

  #deliverLeft(): void {
    if (this.#hasUndelivered()) this.deliverSoon();
  }

  async #deliverNow(): Promise<void> {
    try {
      await this.#deliver();
    } catch (error) {
      log("alert", "job_failed", { error: String(error) });
    } finally {
      if (this.#hasUndelivered()) await this.#ring(Date.now() + DELIVER_AGAIN_MS);
    }
  }

  async #sweep(): Promise<void> {
    if (this.ownRows.lapsedHolds(Date.now(), 1).length > 0) await sweep(this.#jobs());
  }

  async #forget(): Promise<void> {
    const now = Date.now();
    if ((this.#forgetAt() ?? Number.POSITIVE_INFINITY) > now) return;
    const environment = { ledger: this.#ledger, clock: { now: () => Date.now() }, timers };
    // Not `AbortSignal.timeout`: an object with a pending one does not hibernate.
    await within(timers, FORGET_MS, async (signal) => {
      await forgetAll({ config: { operator: { receiptMs: this.#receiptMs } }, environment }, signal);
      if (!signal.aborted) this.#forgotAt = now;
    });
  }

  /** The alarm is in one commit with what it is set for. */
  #write(): Promise<void> | undefined {
    const written = this.#gathered;
    this.#gathered = [];
    this.ownRows.commit();
    return written.length > 0 ? this.#ring(this.#firstDue(written, Date.now())) : undefined;
  }

  /** What is delivered must not be told before its cause is written. */
  #durableOutbox(): OutboxRow[] {
    this.#commits.flush();
    return this.ownRows.outbox();
  }

  #forgetAt(): number | undefined {
    const over = forgettableTables.flatMap((table) => {
      const at = this.ownRows.firstKept(table);
      return at === undefined ? [] : [at + (table === "receipt" ? this.#receiptMs : OUTCOME_RETENTION_MS)];
    });
    return over.length === 0 ? undefined : Math.max(this.#forgotAt, Math.min(...over)) + this.#forgetEveryMs;
  }

  /** When what a command wrote wants looking after, its deliveries aside: nothing is over before the usual time. */
  #firstDue(changes: readonly Change[], now: number): number {
    const leases = changes.flatMap(({ table, row }) => {
      const hold = table === "hold" ? (row as HoldRow | null) : null;
      return hold !== null && isUnresolved(hold) ? [hold.leaseUntil + 1] : [];
    });
    return Math.min(now + OUTCOME_RETENTION_MS + this.#forgetEveryMs, ...leases);
  }

  #jobs(): Gateway {
    const background = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    this.#gateway ??= openEdgeGateway(this.env, { ledger: this.#ledger, background }).gateway;
    return this.#gateway;
  }
}

const FULL = `${MOST_UNDELIVERED} deliveries are left: nothing new is admitted until some are made`;
const DELIVER_AGAIN_MS = 2_000;
const SWEEP_AGAIN_MS = 5_000;
/** Rows are kept for days: that they are a day older when they go costs less than an alarm an hour would. */
const FORGET_EVERY_MS = 24 * 3_600_000;
/** There is one ceiling, which keeps a row of every prepaid request, and an object has a limit of size. */
const FORGET_CEILING_EVERY_MS = 3_600_000;
/** An alarm may run for 15 minutes: it ends before, and what is left is the next one's. */
const FORGET_MS = 5 * 60_000;
/** The runtime's time ends in 2262, and a key may expire in 9999. */
const FARTHEST_MS = 10 * 365 * 24 * 3_600_000;
/** The runtime tries a failing alarm for about two minutes. */
const GIVEN_UP_MS = 3 * 60_000;
