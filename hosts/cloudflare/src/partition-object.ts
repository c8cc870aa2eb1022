import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import type { Gateway } from "@inference/gateway/gateway";
import { forgetAll } from "@inference/gateway/inference/forget";
import { sweep } from "@inference/gateway/inference/sweep";
import { apply } from "@inference/ledger/apply";
import type { Command, Reply } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import type { Change, HoldRow } from "@inference/ledger/tables";
import { forgettableTables } from "@inference/ledger/walks";
import type { Bindings } from "./bindings.ts";
import { makeDeliveries, type Outcome } from "./deliveries.ts";
import { openEdgeGateway, timers } from "./edge-gateway.ts";
import { type EdgeLedger, makeEdgeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import { type OwnRows, openOwnRows } from "./own-rows.ts";
import { receiptMsOf } from "./settings.ts";

/**
 * One partition of the ledger: an object with an SQLite of its own. A command reads and writes without waiting in
 * between, so that its writes are one transaction, and the output gate keeps its reply back until they are durable.
 *
 * Deliveries begin as soon as they are written down. Its one alarm is for all else that it has to do by itself:
 * deliveries that are left, holds whose lease lapsed, rows whose time is over. It is set with each hold for the end of
 * its lease, so a delivery costs no alarm of its own, and what dies with the object is made by the next call to it, or
 * with that lease. Alarms come at least once and are given up when they fail too often, so none ever fails, each sets
 * the next one, and a call that finds none where there should be one sets it.
 */
export class PartitionObject extends DurableObject<Bindings> {
  readonly #rows: OwnRows;
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

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#rows = ctx.storage.transactionSync(() => openOwnRows(ctx.storage.sql));
    const isOwn = (partition: Partition) => ctx.id.equals(env.PARTITION.idFromName(partition));
    this.#receiptMs = receiptMsOf(env);
    this.#forgetEveryMs = isOwn(ceilingPartition) ? FORGET_CEILING_EVERY_MS : FORGET_EVERY_MS;
    this.#ledger = makeEdgeLedger(env, {
      isOwn,
      rows: this.#rows,
      execute: (partition, command) => this.execute(partition, command),
      executeAll: (partition, commands) => this.executeAll(partition, commands),
      read: (partition, query) => this.read(partition, query),
    });
    this.#deliver = makeDeliveries({
      rows: this.#rows,
      send: this.#ledger.executeAll,
      acknowledge: (made) =>
        Promise.all(made.map(({ partition, row }) => this.execute(partition, { type: "acknowledge", id: row.id }))),
    });
    ctx.blockConcurrencyWhile(async () => {
      this.#alarmAt = await ctx.storage.getAlarm();
      if (this.#rows.outbox("", 1).length > 0) this.deliverSoon();
    });
  }

  /** Applies a command. Repeating one is harmless, so a caller that got no reply may call again. */
  async execute(partition: Partition, command: Command): Promise<Reply> {
    const now = Date.now();
    const { reply, changes, deliveries, alerts } = this.ctx.storage.transactionSync(() => {
      const outcome = apply(partition, this.#rows.of(partition), command, now);
      this.#rows.write(partition, [...outcome.changes, ...outcome.deliveries.map(outboxChange)]);
      return outcome;
    });
    const unset = this.#isUnset();
    // In one commit with what was written: nothing is waited for in between.
    const ringing = changes.length > 0 ? this.#ring(this.#firstDue(changes, now)) : undefined;
    if (deliveries.length > 0) this.deliverSoon();
    for (const alert of alerts) log("alert", "ledger", { message: alert });
    await ringing;
    if (unset) await this.#ringNext();
    return reply;
  }

  /** Several in one commit: nothing is waited for between them. */
  executeAll(partition: Partition, commands: readonly Command[]): Promise<Outcome[]> {
    const fails = (error: unknown): Outcome => ({ failed: String(error) });
    return Promise.all(commands.map((command) => this.execute(partition, command).catch(fails)));
  }

  async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
    if (this.#isUnset()) await this.#ringNext();
    return answer(this.#rows.of(partition), query);
  }

  async alarm(): Promise<void> {
    this.#alarmAt = null;
    this.#isAtWork = true;
    try {
      for (const work of [() => this.#deliver(), () => this.#sweep(), () => this.#forget()]) {
        await work().catch((error: unknown) => log("alert", "job_failed", { error: String(error) }));
      }
    } finally {
      this.#isAtWork = false;
      await this.#ringNext();
    }
  }

  /** Sets the alarm, unless it rings before. */
  async #ring(at: number): Promise<void> {
    if (this.#isAtWork || (!this.#isUnset() && this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#alarmAt = at;
    await this.ctx.storage.setAlarm(at);
  }

  /** Sets it by what is written, whatever it was set for. */
  async #ringNext(): Promise<void> {
    const now = Date.now();
    const due: number[] = [];
    if (this.#rows.outbox("", 1).length > 0) due.push(now + DELIVER_AGAIN_MS);
    const lease = this.#rows.firstLease();
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

  async #deliverNow(): Promise<void> {
    try {
      await this.#deliver();
    } catch (error) {
      log("alert", "job_failed", { error: String(error) });
    } finally {
      if (this.#rows.outbox("", 1).length > 0) await this.#ring(Date.now() + DELIVER_AGAIN_MS);
    }
  }

  async #sweep(): Promise<void> {
    if (this.#rows.lapsedHolds(Date.now(), 1).length > 0) await sweep(this.#jobs());
  }

  async #forget(): Promise<void> {
    const now = Date.now();
    if ((this.#forgetAt() ?? Number.POSITIVE_INFINITY) > now) return;
    const stopped = AbortSignal.timeout(FORGET_MS);
    const environment = { ledger: this.#ledger, clock: { now: () => Date.now() }, timers };
    await forgetAll({ config: { operator: { receiptMs: this.#receiptMs } }, environment }, stopped);
    if (!stopped.aborted) this.#forgotAt = now;
  }

  #forgetAt(): number | undefined {
    const over = forgettableTables.flatMap((table) => {
      const at = this.#rows.firstKept(table);
      return at === undefined ? [] : [at + (table === "receipt" ? this.#receiptMs : OUTCOME_RETENTION_MS)];
    });
    return over.length === 0 ? undefined : Math.max(this.#forgotAt, Math.min(...over)) + this.#forgetEveryMs;
  }

  /** When what a command wrote wants looking after, its deliveries aside: nothing is over before the usual time. */
  #firstDue(changes: readonly Change[], now: number): number {
    const leases = changes.flatMap(({ table, row }) => {
      const hold = table === "hold" ? (row as HoldRow | null) : null;
      return hold?.state === "open" || hold?.state === "orphaned" ? [hold.leaseUntil + 1] : [];
    });
    return Math.min(now + OUTCOME_RETENTION_MS + this.#forgetEveryMs, ...leases);
  }

  #jobs(): Gateway {
    const background = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    this.#gateway ??= openEdgeGateway(this.env, { ledger: this.#ledger, background }).gateway;
    return this.#gateway;
  }
}

const DELIVER_AGAIN_MS = 2_000;
const SWEEP_AGAIN_MS = 5_000;
/** Rows are kept for days: that they are a day older when they go costs less than an alarm an hour would. */
const FORGET_EVERY_MS = 24 * 3_600_000;
/** There is one ceiling, which keeps a row of every prepaid request, and an object has a limit of size. */
const FORGET_CEILING_EVERY_MS = 3_600_000;
/** An alarm may run for 15 minutes: it ends before, and what is left is the next one's. */
const FORGET_MS = 5 * 60_000;
/** The runtime tries a failing alarm for about two minutes. */
const GIVEN_UP_MS = 3 * 60_000;
