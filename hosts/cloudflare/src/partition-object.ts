import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import { revokeAgain } from "@inference/gateway/auth/revocations";
import type { Gateway } from "@inference/gateway/gateway";
import { forgetAll, isBill } from "@inference/gateway/jobs/forget";
import { lowerDue } from "@inference/gateway/jobs/lower";
import { notifyAccount } from "@inference/gateway/jobs/notify";
import { sweep } from "@inference/gateway/jobs/sweep";
import { apply } from "@inference/ledger/apply";
import type { DueTable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { type AnswerOf, answer, type Query } from "@inference/ledger/reads";
import { askCeiling } from "@inference/ledger/reservation";
import type { Change, OutboxRow } from "@inference/ledger/tables";
import { forgettableTables } from "@inference/ledger/walks";
import { pureKeccak } from "@inference/protocol/merkle-tree";
import { within } from "@inference/protocol/timers";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements, type Statements } from "@inference/settler/statements";
import { firstDue, nextDue } from "./alarm-times.ts";
import { type Bindings, placedIn } from "./bindings.ts";
import { makeDeliveries, type Outcome } from "./deliveries.ts";
import { openEdgeGateway } from "./edge-gateway.ts";
import { type Export, openExport } from "./export.ts";
import { type GroupCommit, makeGroupCommit } from "./group-commit.ts";
import { makeKeyValue } from "./key-value.ts";
import { type EdgeLedger, makeEdgeLedger, type PartitionCalls } from "./ledger.ts";
import { log } from "./log.ts";
import type { RestoreCalls } from "./operator.ts";
import { MOST_UNDELIVERED, type OwnRows, openOwnRows } from "./own-rows.ts";
import * as most from "./partition-limits.ts";
import { type LogBounds, usualBounds } from "./row-log.ts";
import { objectSettingsOf } from "./settings.ts";
import { timers } from "./timers.ts";

/**
 * One partition of the ledger: an object with its own SQLite. Commands that arrive while a commit is being written
 * share the next commit, and the output gate holds their replies until it is durable.
 *
 * Deliveries begin as soon as they are stored. The object's one alarm is for everything else that it does by itself:
 * remaining deliveries, lapsed holds, allowances and statements that are due, and old rows. Each hold has it set for
 * some hours after its lease, so a delivery needs no alarm of its own. The next deliveries, the next read, or that
 * alarm makes lost deliveries again. The runtime calls an alarm at least once and gives up one that fails too often. So
 * the alarm never fails, always sets the next one, and is set by any call that finds it missing.
 */
export class PartitionObject extends DurableObject<Bindings> implements PartitionCalls, RestoreCalls {
  /** A field of the instance, because methods of the class can be called remotely. */
  protected readonly ownRows: OwnRows;
  readonly #commits: GroupCommit;
  /** The changes of the next commit. */
  #gathered: Change[] = [];
  readonly #ledger: EdgeLedger;
  readonly #deliver: () => Promise<unknown>;
  readonly #export: Export;
  /** How many wait for deliveries that are under way. */
  #delivering = 0;
  readonly #settings: ReturnType<typeof objectSettingsOf>;
  #gateway: Gateway | undefined;
  #statements: Statements | undefined;
  /** Changes when the object was restored: see `HostState`. */
  #epoch = FIRST_EPOCH;
  /** When rows were last forgotten; 0 if unknown. Rows that had to stay are checked again after the same time. */
  #forgotAt = 0;
  /** When a command last wrote something; 0 if unknown. */
  #writtenAt = 0;
  /** The time of the alarm; null if it is not set. */
  #alarmAt: number | null = null;
  /** Whether the alarm is running. It sets the next one at its end. */
  #isAtWork = false;
  /** The sweep that is under way. */
  #sweeping: Promise<unknown> | undefined;
  /** Before this time a question begins no sweep. */
  #sweepAgainAt = 0;
  /** Whether the operator was alerted that no request is admitted. Reset when half of the deliveries are made. */
  #isFullTold = false;

  constructor(ctx: DurableObjectState, env: Bindings, bounds: LogBounds = usualBounds) {
    super(ctx, env);
    this.#export = openExport(env.EXPORT, (work) => ctx.waitUntil(work));
    this.ownRows = openOwnRows(ctx.storage, bounds, env.EXPORT && this.#export.put);
    this.#commits = makeGroupCommit({ write: () => this.#write(), sync: () => ctx.storage.sync() });
    const isOwn = (partition: Partition) => ctx.id.equals(placedIn(env.PARTITION, env).idFromName(partition));
    this.#settings = objectSettingsOf(env);
    this.#ledger = makeEdgeLedger(env, {
      background: (work) => ctx.waitUntil(work),
      own: {
        isOwn,
        rows: this.ownRows,
        execute: (partition, command) => this.#apply(partition, command),
        executeAll: (partition, commands) => this.executeAll(partition, commands),
        read: (partition, query) => this.read(partition, query),
      },
    });
    const deliveries = { send: this.#ledger.executeAll, acknowledge: (ids: string[]) => this.ownRows.acknowledge(ids) };
    this.#deliver = makeDeliveries({ ...deliveries, rows: { outbox: () => this.#durableOutbox() } });
    void ctx.blockConcurrencyWhile(async () => {
      this.#alarmAt = await ctx.storage.getAlarm();
      this.#epoch = (await ctx.storage.get<number>(EPOCH)) ?? FIRST_EPOCH;
    });
  }

  /** Has the object begin with what it had at that time, once it has ended. */
  async beginAt(toMs: number): Promise<void> {
    const { storage } = this.ctx;
    await storage.onNextSessionRestoreBookmark(await storage.getBookmarkForTime(toMs));
  }

  /** Never answers. */
  async end(): Promise<void> {
    this.ctx.abort("ended by the operator");
  }

  /**
   * An account of a restored object changes no money before it has heard the chain's totals, and keys that were revoked
   * since stay so.
   */
  async restored(partition: Partition): Promise<void> {
    this.#epoch = Date.now();
    await this.ctx.storage.put(EPOCH, this.#epoch);
    await this.execute(partition, { type: "releaseHolds", at: this.#epoch });
    // The copy of what the object lost would be laid over what comes now.
    await this.#export.drop(this.ownRows.nextFold());
    const stores = { ledger: this.#ledger, keyValue: makeKeyValue(this.env.KEY_VALUE) };
    // The end of a commit of another request would not come while the object is blocked.
    await this.#commits.idle();
    await this.ctx.blockConcurrencyWhile(() => revokeAgain(stores, partition, Date.now()));
  }

  /** @throws If the object has rows, or if a part of its copy is missing. */
  async refill(partition: Partition): Promise<void> {
    const { last, changes } = await this.#export.read(partition);
    this.ownRows.countFrom(last + 1);
    this.ownRows.write(partition, changes);
    this.ownRows.commit();
    await this.restored(partition);
    await this.#ringNext();
  }

  /**
   * Applies a command. It is safe to repeat, so a caller without a reply may call again. A reserve that needs more of
   * the ceiling asks it from here, because the caller may be far away.
   */
  async execute(partition: Partition, command: Command): Promise<Reply> {
    const reply = await this.#apply(partition, command);
    if (command.type === "reserve") this.#sweepLapsed();
    if (command.type !== "reserve" || !("asks" in reply)) return reply;
    const where = { owner: partition, chain: this.#settings.chain };
    return this.#ledger.run(() => askCeiling(where, command, reply.asks));
  }

  async #apply(partition: Partition, command: Command): Promise<Reply> {
    const [outcome = { failed: "no reply" }] = await this.executeAll(partition, [command]);
    if ("failed" in outcome) throw new Error(outcome.failed);
    return outcome;
  }

  /** Applies several commands in order, in one commit. A failed one changes nothing, and the others are applied. */
  async executeAll(partition: Partition, commands: readonly Command[]): Promise<Outcome[]> {
    const now = Date.now();
    const host = { clockMs: now, epoch: this.#epoch };
    const written: Change[] = [];
    const outcomes = commands.map((command): Outcome => {
      try {
        this.#assertRoom(partition, command);
        const { reply, changes, deliveries, alerts } = apply(partition, this.ownRows.of(partition), command, host);
        const all = [...changes, ...deliveries.map(outboxChange)];
        this.ownRows.write(partition, all);
        written.push(...all);
        for (const alert of alerts) log("alert", "ledger", { message: `${partition}: ${alert}` });
        return reply;
      } catch (error) {
        return { failed: String(error) };
      }
    });
    const unset = this.#isUnset();
    this.#gathered.push(...written);
    await (written.length > 0 ? this.#commits.join() : this.#commits.settled());
    // A command without changes may be a repetition after the object was lost with its deliveries.
    if (written.length === 0 || written.some(({ table }) => table === "outbox")) this.#deliverLeft();
    if (unset) await this.#ringNext();
    return outcomes;
  }

  async read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>> {
    if (this.#isUnset()) await this.#ringNext();
    this.#deliverLeft();
    this.#sweepLapsed();
    const found = answer(this.ownRows.of(partition), query);
    await this.#commits.settled();
    return found;
  }

  async alarm(): Promise<void> {
    this.#alarmAt = null;
    this.#isAtWork = true;
    try {
      const works = [
        () => this.#deliver(),
        () => this.#sweep(),
        () => this.#lower(),
        () => this.#keepStatements(),
        () => this.#notify(),
        () => this.#forget(),
        // Of the works before. Without it the alarm would ring again for them.
        () => this.#deliver(),
        // Commits acknowledgements, so that an object that now sleeps repeats no delivery.
        () => this.#commits.join(),
        () => this.#tidy(),
      ];
      for (const work of works) {
        await work().catch(jobFailed);
      }
    } finally {
      this.#isAtWork = false;
      await this.#ringNext();
    }
  }

  /** Sets the alarm, unless it is due earlier. */
  async #ring(dueAt: number): Promise<void> {
    const at = Math.min(dueAt, Date.now() + most.FARTHEST_MS);
    if (this.#isAtWork || (!this.#isUnset() && this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#alarmAt = at;
    await this.ctx.storage.setAlarm(at);
  }

  /** Sets the alarm for the next work that is stored. */
  async #ringNext(): Promise<void> {
    const due = nextDue(this.ownRows, Date.now());
    const forgetAt = this.#forgetAt();
    if (forgetAt !== undefined) due.push(forgetAt);
    if (due.length > 0) await this.#ring(Math.min(...due));
  }

  /** Whether no alarm is set. An alarm that is long overdue counts as none, because the runtime gave it up. */
  #isUnset(): boolean {
    return !this.#isAtWork && (this.#alarmAt === null || this.#alarmAt < Date.now() - most.GIVEN_UP_MS);
  }

  /** Delivers without waiting for the alarm. A field, because methods of the class can be called remotely. */
  protected deliverSoon = (): void => this.ctx.waitUntil(this.#deliverNow());

  #hasUndelivered(): boolean {
    return this.ownRows.undelivered() > 0;
  }

  /** Refuses reserves while there are too many deliveries. A repeated one is answered as before. */
  #assertRoom(partition: Partition, command: Command): void {
    if (command.type !== "reserve") return;
    const left = this.ownRows.undelivered();
    if (left < MOST_UNDELIVERED / 2) this.#isFullTold = false;
    if (left < MOST_UNDELIVERED || this.ownRows.of(partition).get("receipt", command.id) !== undefined) return;
    if (!this.#isFullTold) log("alert", "ledger", { message: `${partition}: ${FULL}` });
    this.#isFullTold = true;
    throw new Error(FULL);
  }

  #deliverLeft(): void {
    if (this.#hasUndelivered()) this.deliverSoon();
  }

  async #deliverNow(): Promise<void> {
    this.#delivering += 1;
    await this.#deliver().catch(jobFailed);
    this.#delivering -= 1;
    // Readers that wait for the last write see it.
    const isLast = this.#delivering === 0;
    if (isLast && this.#hasUndelivered()) await this.#ring(Date.now() + most.DELIVER_AGAIN_MS);
  }

  /** Lowers allowances of the ceiling that are due. */
  async #lower(): Promise<void> {
    if (!this.#isDue("allowance")) return;
    const environment = { ledger: this.#ledger, clock: { now: () => Date.now() } };
    await within(timers, most.FORGET_MS, (signal) => lowerDue({ environment }, signal));
  }

  async #keepStatements(): Promise<void> {
    if (!this.#isDue("bill")) return;
    const { settlement, posting } = this.#jobs().config;
    this.#statements ??= createStatements({
      ...{ ledger: this.#ledger, chainId: settlement.chainId, terms: posting, now: Date.now, maxUses: most.MAX_USES },
      makeTree: statementTrees(settlement, pureKeccak),
      onAlert: (message) => log("alert", "statements", { message }),
    });
    await this.#statements.poll();
  }

  async #notify(): Promise<void> {
    if (this.#isDue("account")) await notifyAccount(this.#jobs(), this.ownRows.partition());
  }

  #isDue(table: DueTable): boolean {
    return (this.ownRows.dueAt(table) ?? Number.POSITIVE_INFINITY) <= Date.now();
  }

  /** Ends lapsed holds. The alarm and questions share a sweep, so that a hold is ended, and its loss told, once. */
  async #sweep(): Promise<void> {
    if (!this.#hasLapsed()) return;
    this.#sweeping ??= sweep(this.#jobs()).finally(() => {
      this.#sweeping = undefined;
      // A hold that is left waits for its prices, the chain or the ledger.
      if (this.#hasLapsed()) this.#sweepAgainAt = Date.now() + most.SWEEP_AGAIN_MS;
    });
    await this.#sweeping;
  }

  #hasLapsed(): boolean {
    return this.ownRows.lapsedHolds(Date.now(), 1).length > 0;
  }

  /** Ends lapsed holds without waiting for the alarm. */
  #sweepLapsed(): void {
    if (this.#sweeping !== undefined || Date.now() < this.#sweepAgainAt || !this.#hasLapsed()) return;
    this.ctx.waitUntil(this.#sweep().catch(jobFailed));
  }

  async #forget(): Promise<void> {
    const now = Date.now();
    if ((this.#forgetAt() ?? Number.POSITIVE_INFINITY) > now) return;
    const environment = { ledger: this.#ledger, clock: { now: () => Date.now() }, timers };
    // Not `AbortSignal.timeout`: an object with a pending one does not hibernate.
    await within(timers, most.FORGET_MS, async (signal) => {
      await forgetAll({ config: { operator: this.#settings }, environment }, signal);
      if (!signal.aborted) this.#forgotAt = now;
    });
    // A log that is never full would never be copied.
    this.#export.put(this.ownRows.nextFold());
  }

  /** Deletes an empty object and compacts an idle one's log. */
  async #tidy(): Promise<void> {
    if (this.#gathered.length > 0) return;
    if (!this.ownRows.isEmpty()) {
      if (Date.now() - this.#writtenAt >= most.IDLE_MS && !this.#hasUndelivered()) this.ownRows.shorten();
      return;
    }
    await this.#export.drop({ ...this.ownRows.nextFold(), fold: 0 });
    const deleted = this.ctx.storage.deleteAll();
    this.ownRows.reopen();
    await deleted;
  }

  /** Commits the gathered changes together with the alarm that they need. */
  #write(): Promise<void> | undefined {
    const written = this.#gathered;
    this.#gathered = [];
    this.ownRows.commit();
    if (written.length > 0 && !this.#isAtWork) this.#writtenAt = Date.now();
    return written.length > 0 ? this.#ring(firstDue(written, Date.now(), this.#forgetEveryMs())) : undefined;
  }

  /** The outbox, after a commit: a delivery must not be sent before its cause is stored. */
  #durableOutbox(): OutboxRow[] {
    this.#commits.flush();
    return this.ownRows.outbox();
  }

  #forgetAt(): number | undefined {
    const over = forgettableTables.flatMap((table) => {
      const at = this.ownRows.firstKept(table);
      return at === undefined ? [] : [at + (isBill(table) ? this.#settings.receiptMs : OUTCOME_RETENTION_MS)];
    });
    return over.length === 0 ? undefined : Math.max(this.#forgotAt, Math.min(...over)) + this.#forgetEveryMs();
  }

  /** How long rows whose retention has ended are gathered before they are forgotten. */
  #forgetEveryMs(): number {
    return this.ownRows.partition() === ceilingPartition ? most.FORGET_CEILING_EVERY_MS : most.FORGET_EVERY_MS;
  }

  #jobs(): Gateway {
    const background = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    this.#gateway ??= openEdgeGateway(this.env, { ledger: this.#ledger, background }).gateway;
    return this.#gateway;
  }
}

const jobFailed = (error: unknown): void => log("alert", "job_failed", { error: String(error) });
const FULL = `${MOST_UNDELIVERED} deliveries are left: nothing new is admitted until some are made`;
/** The key of the epoch, and the epoch of an object that was never restored. */
const EPOCH = "epoch";
const FIRST_EPOCH = 1;
