import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import { type ActivationWatcher, createActivationWatcher, type PollResult } from "@inference/chain/activation-watcher";
import { type BooksCheck, type BooksStanding, createBooksCheck } from "@inference/chain/books-check";
import { createDollarFollower, type DollarFollower } from "@inference/chain/dollar-follower";
import { followedOf, type GatewaySettings } from "@inference/gateway/settings";
import type { LedgerClient } from "@inference/ledger/client";
import { createReconciler, type Reconciler } from "@inference/settler/reconcile";
import { createSettler, type Settler } from "@inference/settler/settler";
import type { Bindings } from "./bindings.ts";
import { type ChainCalls, type ChainLook, chainClientOf, WHAT_TO_DO_AT_THE_EDGE } from "./chain-look.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import { settingsOf } from "./settings.ts";

/**
 * Watches the primary chain, posts the uses of the ledger on it, and reconciles the days: one object, which polls from
 * its alarm. What it read and what it signed is in the ledger, so nothing is lost with the object. Old books take
 * nothing in and post nothing. The alarm never fails and always sets the next one. Every `look` sets the alarm if it is
 * missing. The runtime runs one alarm at a time, and so one settler.
 */
export class ChainObject extends DurableObject<Bindings> implements ChainCalls {
  readonly #watcher: ActivationWatcher;
  readonly #dollars: DollarFollower | undefined;
  readonly #settler: Settler | undefined;
  readonly #books: BooksCheck;
  readonly #reconciler: Reconciler;
  readonly #pollMs: number;
  #firstCheck: Promise<unknown> | undefined;
  #dollarsPolledAt = 0;
  #reconciledAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const settings = settingsOf(env);
    this.#pollMs = settings.CHAIN_POLL_MS;
    this.#dollars = this.#openDollarFollower(settings);
    const ledger = makeEdgeLedger(env, { background: (work) => this.ctx.waitUntil(work) });
    this.#settler = openSettler(settings, ledger);
    this.#books = openBooksCheck(settings, ledger);
    this.#reconciler = createReconciler({
      ...{ ledger, now: Date.now, chainId: settings.PRIMARY_CHAIN_ID },
      onAlert: (message) => log("alert", "reconciliation", { message }),
    });
    this.#watcher = createActivationWatcher({
      client: chainClientOf(settings.PRIMARY_RPC_URL),
      ...(settings.WITNESS_RPC_URL === undefined ? {} : { secondNode: chainClientOf(settings.WITNESS_RPC_URL) }),
      chainId: settings.PRIMARY_CHAIN_ID,
      settlement: settings.SETTLEMENT_ADDRESS,
      anchor: settings.PRIMARY_ANCHOR,
      contracts: settings,
      startBlock: settings.SETTLEMENT_START_BLOCK,
      confirmations: settings.CONFIRMATIONS,
      stalledAfterMs: settings.CHAIN_STALLED_AFTER_MS,
      ledger,
      now: Date.now,
      onAlert: (message) => log("alert", "chain", { message }),
    });
  }

  async look(): Promise<ChainLook> {
    const alarmAt = await this.ctx.storage.getAlarm();
    const isLate = alarmAt !== null && alarmAt < Date.now() - GIVEN_UP_MS;
    if (alarmAt === null || isLate) await this.ctx.storage.setAlarm(Date.now() + this.#pollMs);
    // A new object knows nothing of the books yet, and Workers serve by what it says.
    this.#firstCheck ??= this.#checkBooks();
    await this.#firstCheck;
    return {
      books: this.#books.standing(),
      status: this.#watcher.status(),
      pending: this.#watcher.allPending(),
      dollars: this.#dollars?.view() ?? null,
      settler: this.#settler?.status() ?? null,
    };
  }

  #openDollarFollower(settings: GatewaySettings): DollarFollower | undefined {
    const followed = followedOf(settings);
    if (followed === null) return undefined;
    return createDollarFollower({
      ...{ followed, clientOf: chainClientOf, now: Date.now },
      confirmations: settings.CONFIRMATIONS,
      store: {
        load: async () => (await this.ctx.storage.get<string>(DOLLARS)) ?? null,
        save: (text) => this.ctx.storage.put(DOLLARS, text),
      },
      onAlert: (message) => log("alert", "dollars", { message }),
    });
  }

  /** Less often than the watcher: each poll asks every chain, and only people wait for what it finds. */
  async #followDollars(): Promise<void> {
    if (Date.now() - this.#dollarsPolledAt < 5 * this.#pollMs) return;
    this.#dollarsPolledAt = Date.now();
    await this.#dollars?.poll();
  }

  async #checkBooks(): Promise<BooksStanding> {
    try {
      return await this.#books.look();
    } catch (error) {
      // The chain's partition does not answer. The next alarm asks again.
      log("warn", "ledger_unavailable", { error: String(error) });
      return this.#books.standing();
    }
  }

  /** Old books take nothing in: a batch that they lack would count as foreign. */
  async #followPrimary(until: number): Promise<void> {
    const { state } = await this.#checkBooks();
    if (state !== "current") return;
    let result: PollResult;
    do result = await this.#watcher.poll();
    while (result.outcome === "advanced" && result.more && Date.now() < until);
    await this.#settler?.poll();
    if (Date.now() - this.#reconciledAt < RECONCILE_MS) return;
    this.#reconciledAt = Date.now();
    await this.#reconciler.poll();
  }

  async alarm(): Promise<void> {
    try {
      await this.#followPrimary(Date.now() + POLLING_MS);
      await this.#followDollars();
    } finally {
      await this.ctx.storage.setAlarm(Date.now() + this.#pollMs);
    }
  }
}

function openBooksCheck(settings: GatewaySettings, ledger: LedgerClient): BooksCheck {
  return createBooksCheck({
    // One try: Workers wait for the first answer.
    ...{ client: chainClientOf(settings.PRIMARY_RPC_URL, 1), ledger, now: Date.now, whatToDo: WHAT_TO_DO_AT_THE_EDGE },
    ...{ chainId: settings.PRIMARY_CHAIN_ID, settlement: settings.SETTLEMENT_ADDRESS },
    onAlert: (message) => log("alert", "books", { message }),
  });
}

/** The settler that the settings ask for; undefined without a key. */
function openSettler(settings: GatewaySettings, ledger: LedgerClient): Settler | undefined {
  if (settings.SETTLER_PRIVATE_KEY === undefined) return undefined;
  return createSettler({
    ...{ client: chainClientOf(settings.PRIMARY_RPC_URL), ledger, now: Date.now },
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement: settings.SETTLEMENT_ADDRESS,
    privateKey: settings.SETTLER_PRIVATE_KEY,
    confirmations: settings.CONFIRMATIONS,
    startBlock: settings.SETTLEMENT_START_BLOCK,
    onAlert: (message) => log("alert", "settler", { message }),
    limits: { intervalMs: settings.SETTLER_INTERVAL_MS },
  });
}

/** Where the follower's text is kept. */
const DOLLARS = "dollars";
const RECONCILE_MS = 600_000;
/** How long one alarm polls while there is more to read. */
const POLLING_MS = 60_000;
/** The runtime gives up a failing alarm after about two minutes. */
const GIVEN_UP_MS = 3 * 60_000;
