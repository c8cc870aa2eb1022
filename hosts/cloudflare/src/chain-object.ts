import { DurableObject } from "cloudflare:workers";
import type { DurableObjectState } from "@cloudflare/workers-types";
import type { PollResult } from "@inference/chain/settlement-watcher";
import { makeProviderBilling } from "@inference/gateway/operator/provider-billing";
import { followedOf } from "@inference/gateway/settings";
import { makeProvider } from "@inference/gateway/upstream/provider";
import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { type MoneyPath, openMoneyPath, RECONCILE_MS } from "@inference/settler/money-path";
import type { SettlerTransaction } from "@inference/settler/settlement-contract";
import type { Bindings } from "./bindings.ts";
import { type ChainCalls, type ChainLook, chainClientOf } from "./chain-look.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import { GIVEN_UP_MS } from "./partition-limits.ts";
import { type EdgeSettings, edgeConfigOf, settingsOf } from "./settings.ts";
import { timers } from "./timers.ts";
import { upstream } from "./upstream.ts";

/**
 * Watches the primary chain, posts statements on it, and reconciles the days: one object, which polls from its alarm.
 * Its state is in the ledger, so the end of the object loses nothing. The alarm never fails and always sets the next
 * one. Every `look` sets the alarm if it is missing. The runtime runs one alarm at a time, and so one settler.
 */
export class ChainObject extends DurableObject<Bindings> implements ChainCalls {
  readonly #money: MoneyPath;
  readonly #pollMs: number;
  #dollarsPolledAt = 0;
  #reconciledAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const settings = settingsOf(env);
    const ledger = makeEdgeLedger(env, { background: (work) => this.ctx.waitUntil(work) });
    const { upstream: config } = edgeConfigOf(settings);
    const provider = makeProvider(config, upstream);
    const listedOn = (day: string) => prepaidOn(ledger, day);
    this.#pollMs = settings.CHAIN_POLL_MS;
    this.#money = openMoneyPath(settings, {
      ledger,
      billing: makeProviderBilling(config.billing, { log, timers, provider, listedOn, listsAll: false }),
      clientOf: chainClientOf,
      now: Date.now,
      account: settlerOf(settings, env),
      followed: followedOf(settings),
      dollarStore: {
        load: async () => (await this.ctx.storage.get<string>(DOLLARS)) ?? null,
        save: (text) => this.ctx.storage.put(DOLLARS, text),
      },
      onAlert: (event, message) => log("alert", event, { message }),
    });
  }

  async look(): Promise<ChainLook> {
    const alarmAt = await this.ctx.storage.getAlarm();
    const isLate = alarmAt !== null && alarmAt < Date.now() - GIVEN_UP_MS;
    if (alarmAt === null || isLate) await this.ctx.storage.setAlarm(Date.now() + this.#pollMs);
    return {
      status: this.#money.watcher.status(),
      pending: this.#money.watcher.allPending(),
      dollars: this.#money.dollars?.view() ?? null,
      settler: this.#money.settler?.status() ?? null,
    };
  }

  /** Less often than the watcher: each poll asks every chain, and only people wait for what it finds. */
  async #followDollars(): Promise<void> {
    if (Date.now() - this.#dollarsPolledAt < 5 * this.#pollMs) return;
    this.#dollarsPolledAt = Date.now();
    await this.#money.dollars?.poll();
  }

  async reread(): Promise<void> {
    this.#money.watcher.reread();
    // A poll that is under way may have begun before.
    await this.#money.watcher.poll();
    const result = await this.#money.watcher.poll();
    if ("reason" in result) throw new Error(result.reason);
  }

  async #followPrimary(until: number): Promise<void> {
    let result: PollResult;
    do result = await this.#money.watcher.poll();
    while (result.outcome === "advanced" && result.more && Date.now() < until);
    await this.#money.settler?.poll();
    if (Date.now() - this.#reconciledAt < RECONCILE_MS) return;
    this.#reconciledAt = Date.now();
    // A provider's record can take minutes to read, and no credit waits for it.
    this.ctx.waitUntil(this.#money.reconciler.poll());
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

/** The settler whose key another Worker has. Throws if it is named without its service, or the other way round. */
function settlerOf({ SETTLER_ADDRESS: address }: EdgeSettings, { SETTLER_KEY: key }: Bindings) {
  if ((address === undefined) !== (key === undefined)) {
    throw new Error("Set both SETTLER_ADDRESS and the service binding SETTLER_KEY, or neither.");
  }
  return address && key && { address, signTransaction: (transaction: SettlerTransaction) => key.sign(transaction) };
}

/**
 * The charges of all prepaid requests that were admitted on a UTC day. Null: the ceiling no longer has the day. The
 * charges of sessions are not in it, and no losses: they are in their identities' and accounts' objects.
 */
async function prepaidOn(ledger: LedgerClient, day: string): Promise<NanoUsd | null> {
  if (day !== utcDay(Date.now() - DAY_MS)) return null;
  return (await ledger.read(ceilingPartition, { type: "ceiling", at: Date.parse(day) })).settledNanoUsd;
}

/** Where the follower's text is kept. */
const DOLLARS = "dollars";
/** How long one alarm polls while there is more to read. */
const POLLING_MS = 60_000;
