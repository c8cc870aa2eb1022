import { createAlarm } from "@inference/chain/alarm";
import { type Block, readBlock } from "@inference/chain/chain-view";
import type { ChainClient } from "@inference/chain/rpc";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, RecordName, ReplyOf } from "@inference/ledger/commands";
import { MAX_TRANSACTIONS } from "@inference/ledger/limits";
import { chainPartition } from "@inference/ledger/partition";
import type { DueStatement } from "@inference/ledger/reads";
import { send } from "@inference/ledger/saga";
import { isRead, type TransactionRow } from "@inference/ledger/tables";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { ServedPart, SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { joined } from "@inference/protocol/joined";
import { REFUSED, type SettlerStatus } from "@inference/protocol/settler-status";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import { type Hex, keccak256 } from "viem";
import { createCarry, GRACE_MS } from "./carry.ts";
import { MAX_FEE_PER_GAS_WEI, MAX_TRANSACTION_GAS } from "./guarded-account.ts";
import { type ChunkLimits, gasOf, nextChunk, type Payable } from "./next-chunk.ts";
import { raisedFees } from "./raised-fees.ts";
import { type Call, type Fees, type SettlerAccount, settleCall, settlementContract } from "./settlement-contract.ts";

/**
 * Posts due statements on chain, oldest first, in chunks. Up to `window` transactions with consecutive nonces are on
 * their way at once, each stored before it is sent. Every poll starts from the ledger and the chain alone, so nothing
 * changes after a restart, after a restore, or beside a second settler: the contract skips booked records.
 *
 * | the transaction of a nonce is | the settler |
 * |---|---|
 * | final | forgets it |
 * | in a block | waits |
 * | not with the node | sends it again |
 * | the lowest that is in no block, for two minutes | replaces it with a higher fee |
 * | missing | signs one with the next statements; without any, a transfer to itself if a later nonce is taken |
 */
export type Settler = {
  /** Goes as far as it can now. Never throws. A call during a poll joins that poll. */
  poll(): Promise<SettlerStatus>;
  status(): SettlerStatus;
};

export type SettlerLimits = ChunkLimits & {
  /** Transactions that are signed and not final. */
  window: number;
  /** A transaction that is in no block for so long is replaced by one with a higher fee. */
  stuckAfterMs: number;
  /** Never paid for a unit of gas. */
  maxFeePerGasWei: bigint;
  /** A statement that is due for so long alerts the operator. */
  lateAfterMs: number;
};

export type SettlerOptions = {
  client: ChainClient;
  chainId: number;
  settlement: Address;
  /** The contract's settler. */
  account: SettlerAccount;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
  limits?: Partial<SettlerLimits>;
};

const usualLimits: SettlerLimits = {
  window: 16,
  maxGas: 15_000_000,
  maxBytes: 131_072,
  stuckAfterMs: 120_000,
  maxFeePerGasWei: MAX_FEE_PER_GAS_WEI,
  lateAfterMs: 7_200_000,
};

/** The last minutes of a day's ceiling are left for a transaction to get into a block. */
const LAST_MINUTES_MS = 15 * 60_000;
const TRANSFER_GAS = 21_000n;
const USUAL_DAYS_GAS = 150_000_000n;

/** More statements than a chunk can have. */
const MAX_RECORDS = 2_000;

/** The content of a transaction: the chunk of a day, or, without records, its nonce alone. */
type Content = { call: Call; day: number; records: readonly SettleRecord[] };
type Outcome = { outcome: "idle" | "posting" } | { outcome: "waiting"; reason: string };
type Stored = TransactionRow & { nonce: number };
type Terms = { nonce: number; fees?: Fees; round: Round; isNeeded: boolean };
/** The findings and actions of one poll. */
type Round = {
  latest: Block;
  /** The nonce of the next transaction that gets into a block, and of the first that the node does not have. */
  next: number;
  pending: number;
  /** The transactions that are not final, by nonce, and the names of their records. */
  open: Map<number, Stored>;
  onTheirWay: Set<string>;
};

export function createSettler(options: SettlerOptions): Settler {
  const { client, chainId, settlement, account, ledger, now } = options;
  const limits = { ...usualLimits, ...options.limits };
  const partition = chainPartition(chainId);
  const address = account.address.toLowerCase() as Address;
  const alarm = createAlarm(options);
  const contract = settlementContract({ client, chainId, address: settlement, account });
  const status: SettlerStatus = {
    ...{ state: "starting", address, lastPollAt: null, balanceWei: null, nonce: null, inFlight: 0 },
    waiting: { accounts: 0, amountNanoUsd: 0, oldestAt: null },
  };
  const fixCarry = createCarry({ ledger, partition, now });
  const transfer: Content = { call: { to: account.address, data: "0x" }, day: 0, records: [] };

  /** Durable when it resolves. */
  const run = <C extends Command>(command: C): Promise<ReplyOf<C>> =>
    ledger.run(() => send(partition, command), { untilDurable: true });

  /** The last block that the ledger has read, and the latest block. */
  async function readHeads(): Promise<{ read: Block; latest: Block }> {
    const cursor = await ledger.read(partition, { type: "cursor" });
    if (!isRead(cursor)) throw new ChainUnavailable("the chain's debits are not read yet");
    const [read, latest] = await Promise.all([readBlock(client, cursor.block), readBlock(client, "latest")]);
    if (latest === null || read?.hash !== cursor.blockHash) {
      throw new ChainUnavailable(`the node does not have block ${cursor.block}, up to which the ledger has read`);
    }
    return { read, latest };
  }

  /** Forgets final transactions, and sends due statements. */
  async function post(): Promise<Outcome> {
    const { read, latest } = await readHeads();
    await fixCarry(read);
    // Final means read by the ledger: a later final block may have debits that the ledger does not know yet.
    const [first, next, pending] = await Promise.all([
      contract.nextNonce(read),
      contract.nextNonce("latest"),
      contract.nextNonce("pending"),
    ]);
    status.nonce = next;
    const round: Round = { latest, next, pending, open: new Map(), onTheirWay: new Set() };
    for (const row of await ledger.read(partition, { type: "transactions", limit: MAX_TRANSACTIONS })) {
      if (row.nonce < first) await run({ type: "dropTransaction", nonce: row.nonce });
      else takeIn(round, row);
    }
    const outcome = await fill(round, first + limits.window);
    status.inFlight = round.open.size;
    status.waiting = await ledger.read(partition, { type: "waiting", toldBefore: null });
    return outcome;
  }

  /** Goes through the nonces that may be on their way, the lowest first. */
  async function fill(round: Round, end: number): Promise<Outcome> {
    const { next, pending, open } = round;
    const last = Math.max(-1, ...open.keys());
    for (let nonce = next; nonce < end; nonce++) {
      const row = open.get(nonce);
      let refusal: Outcome | undefined;
      if (row === undefined) {
        const content = await nextContent(round);
        if ("outcome" in content && nonce > last) return content;
        refusal = await sign(content, { nonce, round, isNeeded: nonce < last });
      } else if (nonce === next && now() - row.signedAt >= limits.stuckAfterMs) refusal = await replace(row, round);
      else if (nonce >= pending) await contract.send(row.raw as Hex);
      if (refusal !== undefined) return refusal;
    }
    return { outcome: "posting" };
  }

  /** The next chunk of statements that are due and not on their way, or why there is none. */
  async function nextContent({ latest, next, open, onTheirWay }: Round): Promise<Content | Outcome> {
    const limit = MAX_RECORDS + onTheirWay.size;
    const due = await ledger.read(partition, { type: "dueStatements", limit });
    const waiting = due.filter((statement) => !onTheirWay.has(nameOf(statement)));
    const payable = waiting.map(payableOf).filter(({ payableNanoUsd }) => payableNanoUsd > 0);
    const [oldest] = waiting;
    if (oldest === undefined) return { outcome: open.size > 0 ? "posting" : "idle" };
    if (payable.length === 0) return late(oldest, "the credit of their accounts is spent");
    for (const day of payingDays(latest.at)) {
      const room = (await contract.roomNanoUsd(day)) - amountOn(day);
      const records = nextChunk(payable, room, limits);
      if (records.length > 0) return { day, records, call: settleCall(settlement, day, records) };
    }
    return late(oldest, "nothing is left under the day's ceiling");

    /** The amount that transactions in no block take from a day. */
    function amountOn(day: number): bigint {
      const rows = [...open.values()].filter((row) => row.nonce >= next && row.day === utcDay(day * DAY_MS));
      const names = new Set(rows.flatMap(namesOf));
      return due.reduce((sum, one) => (names.has(nameOf(one)) ? sum + BigInt(payableOf(one).payableNanoUsd) : sum), 0n);
    }
  }

  /**
   * Stores the transaction before it is sent: whatever happens then, it is known.
   *
   * @param terms.isNeeded Whether the nonce is used in any case, with a transfer if there is nothing to post.
   * @returns Why it is not signed.
   */
  async function sign(content: Content | Outcome, terms: Terms): Promise<Outcome | undefined> {
    const { nonce, round, isNeeded, fees = await contract.fees() } = terms;
    if (fees.maxFeePerGas > limits.maxFeePerGasWei) {
      return wait(`gas costs ${fees.maxFeePerGas} wei, and at most ${limits.maxFeePerGasWei} are paid`);
    }
    if ("outcome" in content) return sign(transfer, { ...terms, fees });
    const gas = await gasFor(content);
    if (typeof gas === "string") {
      const refusal = wait(`${REFUSED}: ${gas}`);
      return isNeeded ? sign(transfer, { ...terms, fees }) : refusal;
    }
    const { call, day, records } = content;
    const raw = await contract.sign(call, { nonce, gas, ...fees });
    const row = {
      ...{ hash: keccak256(raw), raw, maxFeePerGasWei: String(fees.maxFeePerGas), day: utcDay(day * DAY_MS) },
      records: JSON.stringify(records.map(({ account, beforeNanoUsd }) => ({ account, beforeNanoUsd }))),
      signedAt: now(),
    };
    await run({ type: "signChunk", nonce, ...row });
    takeIn(round, { ...row, id: String(nonce), nonce });
    await contract.send(raw);
    return undefined;
  }

  /** More than a chunk needs: a node's estimate may be too low. The error's name if the contract refuses it. */
  async function gasFor({ call, records }: Content): Promise<bigint | string> {
    if (records.length === 0) return TRANSFER_GAS;
    const estimate = await contract.estimate(call);
    if ("revert" in estimate) return estimate.revert;
    const least = BigInt(gasOf(records));
    const generous = (estimate.gas * 6n) / 5n;
    const gas = generous > least ? generous : least;
    return gas > MAX_TRANSACTION_GAS ? MAX_TRANSACTION_GAS : gas;
  }

  /** The same nonce with a higher fee and the statements that are due now. */
  async function replace(row: Stored, round: Round): Promise<Outcome | undefined> {
    const fees = raisedFees(row.raw as Hex, await contract.fees(), limits.maxFeePerGasWei);
    if (fees === undefined) {
      await contract.send(row.raw as Hex);
      return wait(`transaction ${row.hash} is in no block, and more gas than it offers is not paid`);
    }
    alarm("stuck", `settler: transaction ${row.hash} is in no block, and is replaced`);
    round.open.delete(row.nonce);
    for (const name of namesOf(row)) round.onTheirWay.delete(name);
    return sign(await nextContent(round), { nonce: row.nonce, fees, round, isNeeded: true });
  }

  function wait(reason: string): Outcome {
    alarm("waiting", `settler: ${reason}`);
    return { outcome: "waiting", reason };
  }

  /** Credit and ceiling are usual reasons to wait, for a while. */
  function late({ toldAt }: DueStatement, why: string): Outcome {
    const reason = `statements wait since ${new Date(toldAt).toISOString()}: ${why}`;
    if (now() - toldAt >= limits.lateAfterMs) alarm("late", `settler: ${reason}`);
    return { outcome: "waiting", reason };
  }

  async function lookAtAccount(): Promise<void> {
    status.balanceWei = await contract.balanceWei();
    const { maxFeePerGas } = await contract.fees();
    if (status.balanceWei < maxFeePerGas * USUAL_DAYS_GAS) {
      alarm("gas", `settler: ${account.address} has ${status.balanceWei} wei, less than a day's gas`);
    }
  }

  async function poll(): Promise<SettlerStatus> {
    try {
      const done = await post();
      await lookAtAccount();
      delete status.reason;
      status.state = done.outcome;
      if ("reason" in done) status.reason = done.reason;
      status.lastPollAt = now();
    } catch (error) {
      // Every poll starts from the ledger and the chain alone, so the next one may get through.
      status.state = "waiting";
      status.reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      const isPassing = error instanceof ChainUnavailable || error instanceof LedgerUnavailable;
      alarm(isPassing ? "unavailable" : "failed", `settler: ${status.reason}`);
    }
    return { ...status };
  }

  return {
    poll: joined(poll),
    status: () => ({ ...status }),
  };
}

function takeIn({ open, onTheirWay }: Round, row: Stored): void {
  open.set(row.nonce, row);
  for (const name of namesOf(row)) onTheirWay.add(name);
}

function namesOf({ records }: Stored): string[] {
  return (JSON.parse(records) as RecordName[]).map(nameOf);
}

function nameOf({ account, beforeNanoUsd }: RecordName): string {
  return `${account} ${beforeNanoUsd}`;
}

function payableOf(statement: DueStatement): Payable {
  const { account, beforeNanoUsd, afterNanoUsd, root, parts, activatedNanoUsd } = statement;
  const record: SettleRecord = {
    ...{ account: account as Address, beforeNanoUsd, amountNanoUsd: afterNanoUsd - beforeNanoUsd, root: root as Hex },
    parts: JSON.parse(parts) as ServedPart[],
  };
  return { record, payableNanoUsd: Math.max(0, Math.min(afterNanoUsd, activatedNanoUsd) - beforeNanoUsd) };
}

/**
 * The days whose ceiling can pay for a chunk after a block of this time, in days since 1970: the first that has room.
 */
function payingDays(at: number): number[] {
  const today = dayNumber(at);
  return at % DAY_MS < GRACE_MS - LAST_MINUTES_MS ? [today - 1, today] : [today];
}
