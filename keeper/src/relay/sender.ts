import { type Address, encodeFunctionData, type Hex, keccak256, TransactionReceiptNotFoundError } from "viem";
import type { Budget } from "../budget.ts";
import { type Log, reasonOf } from "../log.ts";
import { revertOf } from "../revert.ts";
import type { RelayChain } from "./relay-chain.ts";
import type { RelayRow, RelayStore } from "./store.ts";
import { type Due, look } from "./works.ts";

/**
 * Sends the accepted payments of one chain, one transaction at a time. The chain decides what was paid: before each
 * step the payment is looked up there, so a transaction that is repeated, lost, replaced or sent by somebody else pays
 * nothing twice. Every transaction is stored before it is sent.
 */
export type Sender = {
  /** Makes a step of every open payment. Never throws. Resolves to whether any payment waits for a block. */
  round(): Promise<boolean>;
};

type Options = {
  store: RelayStore;
  budget: Budget;
  now(): number;
  log: Log;
  alert(event: string, fields: Record<string, unknown>): void;
};

/** How long a transaction may be in no block before it is sent again with a higher fee. */
const RESEND_MS = 30_000;
/** How long a payment that cannot be sent now waits for the next try. */
const RETRY_MS = 5_000;
/** Transactions of one payment that may revert. */
const MOST_REVERTS = 3;

export function createSender(chain: RelayChain, { store, budget, now, log, alert }: Options): Sender {
  const { reader, writer, settings, chainId, name } = chain;
  /** By transaction: replaces the most that it may cost by what it cost. */
  const spent = new Map<Hex, (tookWei: bigint) => void>();
  /** The highest fee of a transaction in no block, which its replacement must exceed. */
  let lastFee = { nonce: -1, wei: 0n };

  const put = (row: RelayRow, change: Partial<RelayRow>): void => {
    const next = { ...row, ...change };
    store.put(next);
    if (next.state !== row.state) {
      log("info", "payment", {
        chain: name,
        id: row.id,
        state: next.state,
        hash: next.transaction,
        reason: next.reason,
      });
    }
  };
  const wait = (row: RelayRow, why: string): void => put(row, { waits_for: why, nextAt: now() + RETRY_MS });

  async function round(): Promise<boolean> {
    const rows = store.open(chainId);
    if (rows.length === 0) return false;
    let head: { number: bigint; timestamp: bigint };
    try {
      head = await reader.getBlock();
    } catch (error) {
      alert("unreadable", { chain: name, reason: reasonOf(error) });
      for (const row of rows) if (row.state === "accepted") wait(row, "The chain's node does not answer.");
      return true;
    }
    let isBusy = false;
    for (const row of rows) {
      if (row.nextAt > now()) continue;
      try {
        isBusy = (await step(row, head, isBusy)) || isBusy;
      } catch (error) {
        alert("failed", { task: "payment", chain: name, reason: reasonOf(error) });
        wait(row, "The chain cannot be read or written at the moment.");
      }
    }
    return rows.some(({ state }) => state === "accepted" || state === "sent");
  }

  /** Resolves to whether a transaction of the relay is in no block yet. */
  async function step(row: RelayRow, head: { number: bigint; timestamp: bigint }, isBusy: boolean): Promise<boolean> {
    const isDeep = row.block !== null && Number(head.number) - row.block >= chain.confirmations;
    if (row.state === "confirmed" && !isDeep) return false;
    const found = await look(chain, row, head.number);
    if (found.outcome === "made") {
      await account(row);
      put(row, {
        ...{ state: "confirmed", transaction: found.transaction, block: found.block ?? Number(head.number) },
        ...{ waits_for: null, reason: null, isOver: row.state === "confirmed" },
      });
      return false;
    }
    if (found.outcome === "over") {
      put(row, { state: "failed", reason: found.reason, waits_for: null, isOver: true });
      return false;
    }
    if (found.expires && head.timestamp >= BigInt(row.expiresAt)) {
      put(row, { state: "expired", waits_for: null, isOver: true });
      return false;
    }
    // A reorganization removed it, and it can be sent again.
    const again: RelayRow = row.state === "confirmed" ? { ...row, state: "accepted", block: null, sentAt: null } : row;
    if (again.state === "failed") {
      put(again, { nextAt: now() + RESEND_MS });
      return false;
    }
    const outcome = again.state === "sent" ? await receiptOf(again) : "none";
    if (outcome === "reverted") {
      reverted(again);
      return false;
    }
    const isYoung = again.state === "sent" && now() - (again.sentAt ?? 0) < RESEND_MS;
    if (isYoung) return true;
    if (isBusy) return false;
    return send(again, found);
  }

  async function receiptOf({ hashes }: RelayRow): Promise<"success" | "reverted" | "none"> {
    for (const hash of hashes) {
      try {
        return (await reader.getTransactionReceipt({ hash })).status;
      } catch (error) {
        if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      }
    }
    return "none";
  }

  function reverted(row: RelayRow): void {
    const reverts = row.reverts + 1;
    void account(row).catch(() => undefined);
    const told = `Transaction ${row.transaction} reverted`;
    if (reverts < MOST_REVERTS) {
      put(row, { state: "accepted", hashes: [], sentAt: null, reverts, waits_for: `${told}. It is tried again.` });
      return;
    }
    const reason = `${told}, as ${reverts - 1} before it. The relay gives up. Nothing was paid; until it expires, anyone may still send it.`;
    put(row, { state: "failed", reason, reverts, waits_for: null, nextAt: now() + RESEND_MS });
  }

  /** Counts what a payment's transactions cost in place of the most that they could cost. */
  async function account({ hashes }: RelayRow): Promise<void> {
    for (const hash of hashes) {
      const spend = spent.get(hash);
      if (spend === undefined) continue;
      spent.delete(hash);
      const receipt = await reader.getTransactionReceipt({ hash }).catch(() => null);
      spend(receipt === null ? 0n : receipt.gasUsed * receipt.effectiveGasPrice);
    }
  }

  async function send(row: RelayRow, { call, never }: Due): Promise<boolean> {
    const { account: sender, chain: network } = writer;
    const value = await chain.messageFeeWei();
    const balance = await reader.getBalance({ address: sender.address });
    const data = encodeFunctionData(call);
    const fees = await reader.estimateFeesPerGas();
    const nonce = await reader.getTransactionCount({ address: sender.address });
    let gas: bigint;
    try {
      // Not after the transactions in no block: the one that this replaces may be among them.
      gas =
        ((await reader.estimateContractGas({ ...call, value, account: sender.address, blockTag: "latest" })) * 5n) / 4n;
    } catch (error) {
      const reason = revertOf(error);
      if (reason === undefined && balance <= value + settings.mostWei / 10n) return withoutGas(row, balance);
      if (reason === undefined) throw error;
      const end = never.get(reason);
      if (end !== undefined) put(row, { state: "failed", reason: end, waits_for: null, isOver: true });
      else wait(row, `The payment would fail at present: ${reason || reasonOf(error)}. It is tried until it expires.`);
      return false;
    }
    const own = row.state === "sent" ? BigInt(row.feeWei) : 0n;
    const last = lastFee.nonce === nonce && lastFee.wei > own ? lastFee.wei : own;
    const raised = last === 0n ? 0n : (last * 9n) / 8n + 1n;
    const maxFeePerGas = fees.maxFeePerGas > raised ? fees.maxFeePerGas : raised;
    const mostWei = gas * maxFeePerGas + value;
    if (mostWei > settings.mostWei) {
      wait(row, "Gas costs more than the relay pays for one payment at present.");
      return false;
    }
    if (balance < mostWei) return withoutGas(row, balance);
    if (budget.leftWei(chainId) < mostWei) {
      alert("budget exhausted", { task: "payment", chain: name, leftWei: String(budget.leftWei(chainId)) });
      wait(row, "The relay's budget for gas is used for today. It goes on after 00:00 UTC.");
      return false;
    }
    // A replacement needs both fees raised by a tenth.
    const tip =
      raised === 0n ? fees.maxPriorityFeePerGas : (fees.maxPriorityFeePerGas * maxFeePerGas) / fees.maxFeePerGas + 1n;
    const serializedTransaction = await writer.signTransaction({
      ...{ account: sender, chain: network, to: call.address, data, value, gas, nonce, type: "eip1559" },
      ...{ maxFeePerGas, maxPriorityFeePerGas: tip > maxFeePerGas ? maxFeePerGas : tip },
    });
    const hash = keccak256(serializedTransaction);
    spent.set(hash, budget.reserve(chainId, mostWei));
    lastFee = { nonce, wei: maxFeePerGas };
    const hashes = [hash, ...row.hashes];
    put(row, {
      state: "sent",
      transaction: hash,
      hashes,
      sentAt: now(),
      feeWei: String(maxFeePerGas),
      waits_for: "The transaction is in no block yet.",
    });
    try {
      await reader.request({ method: "eth_sendRawTransaction", params: [serializedTransaction] });
    } catch (error) {
      // It may have arrived all the same. The next rounds look for it.
      log("info", "payment not taken", { chain: name, hash, reason: reasonOf(error) });
    }
    return true;
  }

  function withoutGas(row: RelayRow, balance: bigint): boolean {
    const address: Address = writer.account.address;
    alert("relay without gas", { task: "payment", chain: name, address, balanceWei: String(balance) });
    wait(row, "The relay's account has no coin for gas. The operator is told.");
    return false;
  }

  return { round };
}
