import { createAlarm } from "@inference/chain/alarm";
import { readBlock } from "@inference/chain/chain-view";
import { type Confirmations, type Heads, readHeads } from "@inference/chain/heads";
import type { ChainClient } from "@inference/chain/rpc";
import type { BatchView } from "@inference/ledger/batch";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { BatchName, Command, ReplyOf } from "@inference/ledger/commands";
import { ceilingPartition, chainPartition, journalPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { TransactionRow } from "@inference/ledger/tables";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import { type Hex, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type BatchContent, contentOf } from "./batch-content.ts";
import { raisedFees } from "./raised-fees.ts";
import { type Fees, type Receipt, type Revert, settleCall, settlementContract } from "./settlement-contract.ts";

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

export type SettlerLimits = {
  /** How long uses wait for others before they are posted. */
  intervalMs: number;
  /** Uses in a batch. Building it keeps the process busy for 0.1 ms a use. */
  maxUses: number;
  /** Accounts in a batch: the contract takes no more entries. */
  maxAccounts: number;
  /** After this time a transaction in no block is replaced by one with a higher fee. */
  stuckAfterMs: number;
  /** Never paid for a unit of gas. */
  maxFeePerGasWei: bigint;
};

const usualLimits: SettlerLimits = {
  intervalMs: 600_000,
  maxUses: 500,
  maxAccounts: 200,
  stuckAfterMs: 120_000,
  maxFeePerGasWei: 500_000_000_000n,
};

/** The contract takes yesterday's batches for six hours; the last minutes are left for a transaction to get in. */
const GRACE_MS = 5.5 * 3_600_000;
/** How many days before the last batch's journal uses may come late. */
const LATE_DAYS = 7;
const MAX_STEPS = 50;
const BATCHES_A_DAY = 144n;
const USUAL_BATCH_GAS = 1_000_000n;

/** What a step came to. `next`: there may be more to do at once. */
type Step = { outcome: "next" } | { outcome: "idle" | "posting" } | { outcome: "waiting" | "halted"; reason: string };
const next: Step = { outcome: "next" };

export function createSettler(options: SettlerOptions): Settler {
  const { client, chainId, settlement, confirmations, ledger, now } = options;
  const limits = { ...usualLimits, ...options.limits };
  const partition = chainPartition(chainId);
  const account = privateKeyToAccount(options.privateKey);
  const contract = settlementContract({ client, chainId, address: settlement, account });
  const alarm = createAlarm(options);
  const status: SettlerStatus = {
    ...{ state: "starting", address: account.address.toLowerCase() as Address, lastPollAt: null },
    ...{ balanceWei: null, nonce: null },
  };
  let polling: Promise<SettlerStatus> | undefined;
  let firstDay: number | undefined;
  let isChecked = false;
  /** Smaller after a batch that no day's ceiling had room for. */
  let { maxUses } = limits;
  /** A journal takes a batch for another one by this time, also where the clock stands still. */
  let lastOpenedAt = 0;

  const run = <C extends Command>(command: C, where = partition): Promise<ReplyOf<C>> =>
    ledger.run(() => send(where, command), { untilDurable: true });

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
        return drop(last, []);
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
    const lastDay = last === undefined ? 0 : Math.min(today, dayNumber(Date.parse(last.journal)));
    for (let day = Math.max(firstDay, lastDay - LATE_DAYS); day <= today; day++) {
      const journal = utcDay(day * DAY_MS);
      const query = { type: "waiting", limit: maxUses } as const;
      const { uses, oldestAt } = await ledger.read(journalPartition(journal), query);
      if (uses === 0 || oldestAt === null) continue;
      // Of either sign: the clock may have been set back.
      const waitedMs = Math.abs(now() - Math.max(last?.openedAt ?? 0, oldestAt));
      if (uses < maxUses && waitedMs < limits.intervalMs) return { outcome: "idle" };
      lastOpenedAt = Math.max(now(), lastOpenedAt + 1, (last?.openedAt ?? 0) + 1);
      await run({ type: "openBatch", batch: (last?.batch ?? 0) + 1, openedAt: lastOpenedAt, journal });
      return next;
    }
    return { outcome: "idle" };
  }

  async function build(batch: BatchView): Promise<Step> {
    const name = nameOf(batch);
    const { maxAccounts } = limits;
    const reply = await run({ type: "gatherUses", ...name, maxUses, maxAccounts }, journalPartition(batch.journal));
    if (reply.status === "late") lastOpenedAt = Math.max(lastOpenedAt, reply.openedAt);
    const uses = reply.status === "gathered" ? reply.uses : [];
    const [first, final] = [uses[0], uses.at(-1)];
    if (first === undefined || final === undefined) return reject(batch, []);
    const { root, amountNanoUsd } = contentOf({ chainId, address: settlement }, batch.batch, uses);
    const range = { firstUse: first.id, lastUse: final.id };
    await run({ type: "buildBatch", ...name, root, uses: uses.length, amountNanoUsd, ...range });
    return next;
  }

  async function sendFirst(batch: BatchView, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    if (content === undefined)
      return halted(`the journal of ${batch.journal} does not have what batch ${batch.batch} was built of`);
    for (const day of payingDays(batch, heads)) {
      const call = settleCall(batch.batch, day, content);
      const revert = await contract.simulate(call, "latest");
      if (revert === undefined) return sign(batch, { call, day, nonce: await contract.nextNonce("latest") });
      if (revert.name !== "CeilingReached") return refused(batch, revert, call, heads);
    }
    if (batch.uses > 1 && maxUses > 1) {
      // A part of it may find room.
      maxUses = Math.ceil(Math.min(batch.uses, maxUses) / 2);
      return reject(batch, []);
    }
    return waiting(`no day's ceiling has room for batch ${batch.batch}`);
  }

  /** The days whose ceiling may pay, since 1970: that of its uses as long as the contract accepts it, and today. */
  function payingDays({ journal }: BatchView, heads: Heads): number[] {
    const [own, today] = [dayNumber(Date.parse(journal)), dayNumber(timeOf(heads))];
    if (own === today) return [today];
    const isInGrace = own === today - 1 && timeOf(heads) % DAY_MS < GRACE_MS;
    return isInGrace ? [own, today] : [today];
  }

  /** Writes the transaction down before it is sent: whatever happens then, it is known. */
  async function sign(batch: BatchView, what: { call: Hex; day: number; nonce: number; fees?: Fees }): Promise<Step> {
    const { call, day, nonce } = what;
    const fees = what.fees ?? (await contract.fees());
    if (fees.maxFeePerGas > limits.maxFeePerGasWei) {
      return waiting(`gas costs ${fees.maxFeePerGas} wei, and at most ${limits.maxFeePerGasWei} are paid`);
    }
    const raw = await contract.sign(call, { nonce, ...fees });
    const name = nameOf(batch);
    if (utcDay(day * DAY_MS) !== batch.journal) {
      const id = `batch:${batch.batch}:${batch.openedAt}:${day}`;
      await run({ type: "carry", id, at: day * DAY_MS, amountNanoUsd: batch.amountNanoUsd }, ceilingPartition);
    }
    const transaction = { hash: keccak256(raw), raw, nonce, maxFeePerGasWei: String(fees.maxFeePerGas) };
    const when = { day: utcDay(day * DAY_MS), signedAt: now() };
    const reply = await run({ type: "signBatch", ...name, ...transaction, ...when });
    if (reply.status !== "signed") return halted(`a transaction for batch ${batch.batch} could not be written down`);
    await contract.send(raw);
    return { outcome: "posting" };
  }

  async function follow(batch: BatchView, heads: Heads): Promise<Step> {
    const [newest] = batch.signed;
    if (newest === undefined) return halted(`batch ${batch.batch} is signed, and has no transaction`);
    for (const { hash } of batch.signed) {
      const receipt = await contract.receipt(hash as Hex);
      if (receipt === null) continue;
      if (receipt.isSuccess || receipt.block > heads.final.number) return { outcome: "posting" };
      if ((await contract.nextNonce(heads.final)) > newest.nonce) return reverted(batch, heads);
    }
    if ((await contract.nextNonce(heads.final)) > newest.nonce) {
      alarm("nonce", `batch ${batch.batch}: another transaction of ${account.address} took its number ${newest.nonce}`);
      return reject(batch, []);
    }
    return isInTime(newest, heads) && now() - newest.signedAt < limits.stuckAfterMs
      ? sendAgain(newest)
      : replace(batch, newest, heads);
  }

  async function sendAgain({ raw }: TransactionRow): Promise<Step> {
    await contract.send(raw as Hex);
    return { outcome: "posting" };
  }

  /** The same number with a higher fee, or for a day that the contract still takes. */
  async function replace(batch: BatchView, newest: TransactionRow, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    if (content === undefined) return halted(`the journal no longer has what batch ${batch.batch} was built of`);
    const own = dayNumber(Date.parse(newest.day));
    const day = isInTime(newest, heads) ? own : dayNumber(timeOf(heads));
    const call = settleCall(batch.batch, day, content);
    // One of its transactions may be in a block that is not final: there is nothing to replace then.
    if ((await contract.simulate(call, "latest")) !== undefined) return sendAgain(newest);
    const fees = raisedFees(newest.raw as Hex, await contract.fees(), limits.maxFeePerGasWei);
    if (fees === undefined) {
      await contract.send(newest.raw as Hex);
      return waiting(`transaction ${newest.hash} is in no block, and more gas than it offers is not paid`);
    }
    alarm("stuck", `batch ${batch.batch}: transaction ${newest.hash} is in no block, and is replaced`);
    return sign(batch, { call, day, nonce: newest.nonce, fees });
  }

  function isInTime({ day }: TransactionRow, heads: Heads): boolean {
    const [own, today] = [dayNumber(Date.parse(day)), dayNumber(timeOf(heads))];
    return own === today || (own === today - 1 && timeOf(heads) % DAY_MS < GRACE_MS);
  }

  /** Its number is used up, so that none of its transactions can be settled any more. */
  async function reverted(batch: BatchView, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    const [day = 0] = payingDays(batch, heads);
    if (content === undefined) return reject(batch, []);
    const call = settleCall(batch.batch, day, content);
    const revert = await contract.simulate(call, "latest");
    alarm("reverted", `batch ${batch.batch} was reverted: ${revert?.name ?? "its cause is over"}`);
    const isOver = revert === undefined || revert.name === "CeilingReached";
    return isOver ? reject(batch, []) : refused(batch, revert, call, heads);
  }

  async function refused(batch: BatchView, { name, args }: Revert, call: Hex, heads: Heads): Promise<Step> {
    const [account] = args;
    const isBehind = name === "WrongDay" || name === "WrongBatch";
    // Credit that counts was given in a final block. A node that is behind may not have it yet.
    const again = name === "InsufficientCredit" ? await contract.simulate(call, heads.final) : undefined;
    if (isBehind || (name === "InsufficientCredit" && (again?.name !== name || again.args[0] !== account))) {
      return waiting(`the node's latest block is behind, and refuses batch ${batch.batch}: ${name}`);
    }
    if (name !== "InsufficientCredit" || typeof account !== "string") {
      return halted(
        `the settlement refuses batch ${batch.batch}: ${name ?? "unknown error"} ${args.map(String).join(", ")}`,
      );
    }
    return reject(batch, [account.toLowerCase()]);
  }

  async function reject(batch: BatchView, setAside: readonly string[]): Promise<Step> {
    const { status } = await run({ type: "rejectBatch", ...nameOf(batch) });
    if (status !== "rejected") return halted(`batch ${batch.batch} could not be rejected`);
    return drop(batch, setAside);
  }

  async function drop(batch: BatchView, setAside: readonly string[]): Promise<Step> {
    await run({ type: "returnUses", ...nameOf(batch), setAside }, journalPartition(batch.journal));
    await run({ type: "dropBatch", ...nameOf(batch) });
    return next;
  }

  async function confirm(last: BatchView | undefined, count: number, heads: Heads): Promise<Step> {
    if (last?.state !== "signed" || count !== last.batch) return foreign(count);
    if ((await contract.rootOf(count, heads.final)) !== last.root) return foreign(count);
    for (const { hash } of last.signed) {
      const receipt: Receipt | null = await contract.receipt(hash as Hex);
      if (receipt?.isSuccess !== true || receipt.block > heads.final.number) continue;
      const { block } = receipt;
      await run({ type: "settleBatch", ...nameOf(last), at: now(), settledBy: hash, block });
      maxUses = limits.maxUses;
      return next;
    }
    return waiting(`batch ${count} is settled, and the node does not know by which transaction`);
  }

  async function contentAgain({
    batch,
    journal,
    firstUse,
    lastUse,
    root,
  }: BatchView): Promise<BatchContent | undefined> {
    if (firstUse === null || lastUse === null) return undefined;
    const query = { type: "batchUses", batch, firstUse, lastUse } as const;
    const uses = await ledger.read(journalPartition(journal), query);
    if (uses.length === 0) return undefined;
    const content = contentOf({ chainId, address: settlement }, batch, uses);
    return content.root === root ? content : undefined;
  }

  /** The chain's time, or ours where it makes no blocks: the next one has ours. */
  function timeOf({ latest }: Heads): number {
    return Math.max(latest.at, now());
  }

  function foreign(batch: number): Step {
    return halted(`batch ${batch} on chain ${chainId} is not one of ours: another settler posts, or our books are old`);
  }

  function waiting(reason: string): Step {
    alarm("waiting", `settler: ${reason}`);
    return { outcome: "waiting", reason };
  }

  function halted(reason: string): Step {
    options.onAlert(`settler: stopped: ${reason}`);
    return { outcome: "halted", reason };
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

function nameOf({ batch, openedAt }: BatchView): BatchName {
  return { batch, openedAt };
}
