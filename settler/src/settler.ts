import { createAlarm } from "@inference/chain/alarm";
import { readBlock } from "@inference/chain/chain-view";
import { type Confirmations, type Heads, readHeads } from "@inference/chain/heads";
import type { ChainClient } from "@inference/chain/rpc";
import type { BatchView } from "@inference/ledger/batch";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import { chainPartition, isDaysOwn, journalDay, journalPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Desk, nameOf, next, type SettlerLimits, type Step } from "./desk.ts";
import { makePosting } from "./posting.ts";
import { type Receipt, settlementContract } from "./settlement-contract.ts";

/**
 * Posts the journals' uses on chain in batches, oldest first, one batch at a time, and reads back what became of each.
 * What it does next follows from the ledger and the chain alone, so that it goes on after a stop at any point:
 *
 * | the last batch is | it |
 * |---|---|
 * | settled, or there is none | opens the next one, when uses have waited for `intervalMs` or one is full |
 * | open | takes uses from its journal and computes their root |
 * | built | signs the transaction for a day whose ceiling has room, writes it down, and sends it |
 * | signed | sends it again, with a higher fee when it is stuck, until the batch is final; reads a revert |
 * | rejected | returns its uses, and drops it |
 *
 * A batch on the chain that is not ours stops it until it is restarted.
 */
export type Settler = {
  /** Goes as far as it can now. Never throws; a poll during a poll is that poll. */
  poll(): Promise<SettlerStatus>;
  status(): SettlerStatus;
};

export type SettlerOptions = {
  client: ChainClient;
  chainId: number;
  settlement: Address;
  /** Of the contract's settler. */
  privateKey: Hex;
  confirmations: Confirmations;
  /** The block before the contract's first: no use is older. */
  startBlock: number;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
  limits?: Partial<SettlerLimits>;
};

const usualLimits: SettlerLimits = {
  intervalMs: 600_000,
  maxUses: 500,
  maxEntries: 200,
  maxServes: 100,
  stuckAfterMs: 120_000,
  maxFeePerGasWei: 500_000_000_000n,
};

/** Uses that come later than so many days before the last batch's journal are looked for once a day. */
const LATE_DAYS = 7;
const MAX_STEPS = 50;
const BATCHES_A_DAY = 144n;
const USUAL_BATCH_GAS = 1_000_000n;

export function createSettler(options: SettlerOptions): Settler {
  const { client, chainId, confirmations, ledger, now } = options;
  const limits = { ...usualLimits, ...options.limits };
  const partition = chainPartition(chainId);
  const account = privateKeyToAccount(options.privateKey);
  const alarm = createAlarm(options);
  const desk: Desk = {
    contract: settlementContract({ client, chainId, address: options.settlement, account }),
    settlement: { chainId, address: options.settlement },
    address: account.address,
    ...{ ledger, partition, limits, alarm, now },
    run: (command, where = partition) => ledger.run(() => send(where, command), { untilDurable: true }),
    waiting(reason) {
      alarm("waiting", `settler: ${reason}`);
      return { outcome: "waiting", reason };
    },
    halted(reason) {
      options.onAlert(`settler: stopped: ${reason}`);
      return { outcome: "halted", reason };
    },
    timeOf: ({ latest }) => Math.max(latest.at, now()),
    maxUses: limits.maxUses,
    lastOpenedAt: 0,
  };
  const { contract, run, waiting, halted, timeOf } = desk;
  const { build, sendFirst, follow, drop } = makePosting(desk);
  const status: SettlerStatus = {
    ...{ state: "starting", address: account.address.toLowerCase() as Address, lastPollAt: null },
    ...{ balanceWei: null, nonce: null },
  };
  let polling: Promise<SettlerStatus> | undefined;
  let firstDay: number | undefined;
  let isChecked = false;
  /** The day on which all journals were last searched for uses that came late. */
  let searchedOn: number | undefined;
  /** By day, when nothing waited in its journals. Each look keeps all of a day's journals awake at the edge. */
  const emptyAt = new Map<number, number>();

  async function step(): Promise<Step> {
    const heads = await readHeads(client, confirmations);
    const [last] = await ledger.read(partition, { type: "batches", limit: 1 });
    const settled = last === undefined ? 0 : last.state === "settled" ? last.batch : last.batch - 1;
    const count = await contract.batchCount(heads.final);
    if (count < settled) return waiting(`the chain has ${count} final batches, and our books ${settled}`);
    if (count > settled) return confirm(last, count, heads);
    if (!isChecked && settled > 0) {
      const ours = await ledger.read(partition, { type: "batch", batch: settled });
      if ((await contract.rootOf(settled, heads.final)) !== ours?.root) return foreign(settled);
    }
    isChecked = true;
    switch (last?.state) {
      case undefined:
      case "settled":
        return openNext(last, heads);
      case "open":
        return build(last);
      case "built":
        return sendFirst(last, heads);
      case "signed":
        return follow(last, heads);
      case "rejected":
        return drop(last, null);
    }
  }

  async function openNext(last: BatchView | undefined, heads: Heads): Promise<Step> {
    if (firstDay === undefined) {
      const start = await readBlock(client, options.startBlock);
      if (start === null) return waiting(`the node does not have block ${options.startBlock}`);
      firstDay = dayNumber(start.at);
    }
    const today = dayNumber(timeOf(heads));
    // A journal of tomorrow is of a clock that was wrong.
    const lastDay = last === undefined ? 0 : Math.min(today, dayNumber(Date.parse(journalDay(last.journal))));
    const near = Math.max(firstDay, lastDay - LATE_DAYS);
    for (let day = searchedOn === today ? near : firstDay; day <= today; day++) {
      if (day === near) searchedOn = today;
      // What comes late to a day that is over can wait as other uses do.
      const emptyForMs = Math.abs(now() - (emptyAt.get(day) ?? Number.NEGATIVE_INFINITY));
      if (day < today && emptyForMs < limits.intervalMs) continue;
      const waiting = await waitingOn(utcDay(day * DAY_MS));
      if (waiting.length === 0) {
        emptyAt.set(day, now());
        continue;
      }
      const due = waiting.find(({ journal, uses, oldestAt }) => {
        // No journal waits for the batches of shards' journals, except for its own.
        const isItsOwn = journal === last?.journal || (isDaysOwn(journal) && isDaysOwn(last?.journal ?? ""));
        const openedAt = isItsOwn ? (last?.openedAt ?? 0) : 0;
        // Of either sign: the clock may have been set back.
        return uses >= desk.maxUses || Math.abs(now() - Math.max(openedAt, oldestAt)) >= limits.intervalMs;
      });
      if (due === undefined) return { outcome: "idle" };
      const { journal } = due;
      desk.lastOpenedAt = Math.max(now(), desk.lastOpenedAt + 1, (last?.openedAt ?? 0) + 1);
      const name = { batch: (last?.batch ?? 0) + 1, openedAt: desk.lastOpenedAt };
      const { status } = await run({ type: "openBatch", ...name, journal });
      if (status !== "open") return halted(`batch ${name.batch} could not be opened: the ledger has another one`);
      return next;
    }
    return { outcome: "idle" };
  }

  /** The journals of a day in which uses wait, the one that has waited longest first. */
  async function waitingOn(day: string): Promise<{ journal: string; uses: number; oldestAt: number }[]> {
    const query = { type: "waiting", limit: desk.maxUses } as const;
    const own = await ledger.read(journalPartition(day), query);
    const others = (own.shards ?? []).map(async (journal) => {
      return { journal, ...(await ledger.read(journalPartition(journal), query)) };
    });
    return [{ journal: day, ...own }, ...(await Promise.all(others))]
      .flatMap(({ journal, uses, oldestAt }) => (oldestAt === null ? [] : [{ journal, uses, oldestAt }]))
      .sort((one, other) => one.oldestAt - other.oldestAt);
  }

  async function confirm(last: BatchView | undefined, count: number, heads: Heads): Promise<Step> {
    if (last === undefined || count !== last.batch) return foreign(count);
    if (last.state !== "signed" && last.state !== "built") return foreign(count);
    if ((await contract.rootOf(count, heads.final)) !== last.root) return foreign(count);
    for (const { hash } of last.signed) {
      const receipt: Receipt | null = await contract.receipt(hash as Hex);
      if (receipt?.isSuccess !== true || receipt.block > heads.final.number) continue;
      return settle(last, hash, receipt.block);
    }
    // By a transaction that these books do not know: they are a copy, or another one has the key and sent the batch.
    const [posted] = await ledger.read(partition, { type: "posted", before: count + 1, limit: 1 });
    if (posted?.batch !== count)
      return waiting(`batch ${count} is settled, and it is not read yet by which transaction`);
    return posted.origin === "ours" ? settle(last, posted.hash, posted.block) : foreign(count);
  }

  async function settle(batch: BatchView, settledBy: string, block: number): Promise<Step> {
    const { status } = await run({ type: "settleBatch", ...nameOf(batch), at: now(), settledBy, block });
    if (status !== "settled") return halted(`batch ${batch.batch} could not be settled by ${settledBy} in the ledger`);
    desk.maxUses = limits.maxUses;
    return next;
  }

  function foreign(batch: number): Step {
    return halted(`batch ${batch} on chain ${chainId} is not one of ours: another settler posts, or our books are old`);
  }

  async function lookAtAccount(): Promise<void> {
    status.balanceWei = await contract.balanceWei();
    status.nonce = await contract.nextNonce("latest");
    const { maxFeePerGas } = await contract.fees();
    if (status.balanceWei < maxFeePerGas * USUAL_BATCH_GAS * BATCHES_A_DAY) {
      alarm("gas", `settler: ${account.address} has ${status.balanceWei} wei, less than a day's gas`);
    }
  }

  async function poll(): Promise<SettlerStatus> {
    if (status.state === "halted") return { ...status };
    try {
      let done: Step = next;
      for (let steps = 0; done.outcome === "next" && steps < MAX_STEPS; steps++) done = await step();
      await lookAtAccount();
      delete status.reason;
      status.state = done.outcome === "next" ? "posting" : done.outcome;
      if ("reason" in done) status.reason = done.reason;
      status.lastPollAt = now();
    } catch (error) {
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      const isPassing = error instanceof ChainUnavailable || error instanceof LedgerUnavailable;
      status.state = isPassing ? "waiting" : "halted";
      status.reason = reason;
      alarm(status.state, `settler: ${status.state}: ${reason}`);
    }
    return { ...status };
  }

  return {
    poll() {
      polling ??= poll().finally(() => {
        polling = undefined;
      });
      return polling;
    },
    status: () => ({ ...status }),
  };
}
