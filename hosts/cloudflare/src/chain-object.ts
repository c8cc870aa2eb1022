import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import { createDollarFollower, type DollarFollower } from "@inference/chain/dollar-follower";
import { createSettlementWatcher, type PollResult, type SettlementWatcher } from "@inference/chain/settlement-watcher";
import { followedOf, type GatewaySettings } from "@inference/gateway/settings";
import type { LedgerClient } from "@inference/ledger/client";
import { createReconciler, type Reconciler } from "@inference/settler/reconcile";
import { createSettler, type Settler } from "@inference/settler/settler";
import type { Bindings } from "./bindings.ts";
import { type ChainCalls, type ChainLook, chainClientOf } from "./chain-look.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import { settingsOf } from "./settings.ts";

/**
 * Watches the primary chain, posts statements on it, and reconciles the days: one object, which polls from its alarm.
 * What it read and what it signed is in the ledger, so nothing is lost with the object. The alarm never fails and
 * always sets the next one. Every `look` sets the alarm if it is missing. The runtime runs one alarm at a time, and so
 * one settler.
 */
export class ChainObject extends DurableObject<Bindings> implements ChainCalls {
  readonly #watcher: SettlementWatcher;
  readonly #dollars: DollarFollower | undefined;
  readonly #settler: Settler | undefined;
  readonly #reconciler: Reconciler;
  readonly #pollMs: number;
  #dollarsPolledAt = 0;
  #reconciledAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const settings = settingsOf(env);
    this.#pollMs = settings.CHAIN_POLL_MS;
    this.#dollars = this.#openDollarFollower(settings);
    const ledger = makeEdgeLedger(env, { background: (work) => this.ctx.waitUntil(work) });
    this.#settler = openSettler(settings, ledger);
    this.#reconciler = createReconciler({
      ...{ client: chainClientOf(settings.PRIMARY_RPC_URL), ledger, now: Date.now },
      ...{ chainId: settings.PRIMARY_CHAIN_ID, settlement: settings.SETTLEMENT_ADDRESS },
      onAlert: (message) => log("alert", "reconciliation", { message }),
    });
    this.#watcher = createSettlementWatcher({
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
    return {
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

  async reread(): Promise<void> {
    this.#watcher.reread();
    // A poll that is under way may have begun before.
    await this.#watcher.poll();
    const result = await this.#watcher.poll();
    if ("reason" in result) throw new Error(result.reason);
  }

  async #followPrimary(until: number): Promise<void> {
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

/** The settler that the settings ask for; undefined without a key. */
function openSettler(settings: GatewaySettings, ledger: LedgerClient): Settler | undefined {
  if (settings.SETTLER_PRIVATE_KEY === undefined) return undefined;
  return createSettler({
    ...{ client: chainClientOf(settings.PRIMARY_RPC_URL), ledger, now: Date.now },
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement: settings.SETTLEMENT_ADDRESS,
    privateKey: settings.SETTLER_PRIVATE_KEY,
    onAlert: (message) => log("alert", "settler", { message }),
    limits: { window: settings.SETTLER_WINDOW },
  });
}

/** Where the follower's text is kept. */
const DOLLARS = "dollars";
const RECONCILE_MS = 600_000;
/** How long one alarm polls while there is more to read. */
const POLLING_MS = 60_000;
/** The runtime gives up a failing alarm after about two minutes. */
const GIVEN_UP_MS = 3 * 60_000;
