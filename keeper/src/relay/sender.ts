import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { type Address, encodeFunctionData, type Hex, keccak256, TransactionReceiptNotFoundError } from "viem";
import type { Budget } from "../budget.ts";
import { inBatches } from "../keeper-chain.ts";
import { type Log, reasonOf } from "../log.ts";
import { revertOf } from "../revert.ts";
import { balanceOf, firstBlockFrom, HAS_CODE, hasCode, IN_THE_DOOR, usedBefore } from "./accept.ts";
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
  round(signal: AbortSignal): Promise<boolean>;
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
/** How long a payment that would revert keeps its place. */
const PATIENCE_MS = 60_000;
/** How long after its deadline a payment without an event keeps its place, in seconds. */
const UNSEEN_S = 600;
/** How long after its deadline a payment whose dollars are in the door keeps its place, in seconds. */
const CLAIM_S = 86_400;
/** Transactions of one payment that may revert. */
const MOST_REVERTS = 3;

const NOT_CLAIMED =
  `The relay could not claim it within a day of its deadline, and gives up. ${IN_THE_DOOR} Send it again to have it ` +
  "claimed while the chain knows the hash of its block. Later ask the operator, who can credit the payer (`activateFor`).";
const NOT_READ =
  "The relay could not read it from the chain within a day of its deadline, and gives up. See the chain for what was " +
  "paid, and send the same again: the relay then looks once more.";
const GIVEN_UP = "The relay gives up, and nothing was paid. Until its deadline it can be sent again, by anyone.";

type Head = { number: bigint; timestamp: bigint };

export function createSender(chain: RelayChain, { store, budget, now, log, alert }: Options): Sender {
  const { reader, writer, settings, chainId, name } = chain;
  /** By transaction: replaces the most that it may cost by what it cost. */
  const spent = new Map<Hex, (tookWei: bigint) => void>();
  /** What all payments of the chain wait for. */
  let paused = { until: 0, why: "" };
  let nextSweep = 0;

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
  const wait = (row: RelayRow, why: string): false => {
    put(row, { waits_for: why, nextAt: now() + RETRY_MS });
    return false;
  };
  /** Of what all payments wait for. Writes once. */
  const tell = (row: RelayRow, why: string): void => {
    if (row.state === "accepted" && row.waits_for !== why) put(row, { waits_for: why });
  };
  const end = (row: RelayRow, state: "failed" | "expired", reason: string | null): false => {
    put(row, { state, reason, waits_for: null, isOver: true });
    return false;
  };
  const pause = (row: RelayRow, why: string): false => {
    paused = { until: now() + RETRY_MS, why };
    tell(row, why);
    return false;
  };

  async function round(signal: AbortSignal): Promise<boolean> {
    const rows = store.open(chainId);
    if (rows.length === 0) return false;
    let head: Head;
    let short: ReadonlySet<string>;
    try {
      head = await reader.getBlock();
      short = await withoutDollars(rows, head);
    } catch (error) {
      alert("unreadable", { chain: name, reason: reasonOf(error) });
      for (const row of rows) tell(row, "The chain's node does not answer.");
      return true;
    }
    // A transaction on its way comes first, because there is one at a time.
    rows.sort((one, other) => Number(other.state === "sent") - Number(one.state === "sent"));
    let isBusy = rows.some(isYoung);
    for (const row of rows) {
      if (signal.aborted) break;
      if (row.state === "confirmed" && !isDeep(row, head)) continue;
      const maySend = !isBusy && now() >= paused.until;
      if (!short.has(row.id)) {
        if (row.nextAt > now()) continue;
        if (row.state === "accepted" && !maySend) {
          if (!isBusy) tell(row, paused.why);
          continue;
        }
      }
      try {
        isBusy = (await step(row, await reader.getBlock(), maySend)) || isBusy;
      } catch (error) {
        alert("failed", { task: "payment", chain: name, reason: reasonOf(error) });
        if (isForgotten(row, head)) end(row, "failed", NOT_READ);
        else wait(row, "The chain cannot be read or written at the moment.");
      }
    }
    return rows.some(({ state }) => state === "accepted" || state === "sent");
  }

  /**
   * The payments that wait while their payer's dollars are gone: those are looked at before their turn, so that they
   * leave their places to others. A request for each 113 payers, at most every {@link RETRY_MS}.
   */
  async function withoutDollars(rows: readonly RelayRow[], head: Head): Promise<ReadonlySet<string>> {
    const waiting = rows.filter((row) => row.state === "accepted" && row.hashes.length === 0 && row.value !== "0");
    if (waiting.length < 2 || now() < nextSweep) return new Set();
    nextSweep = now() + RETRY_MS;
    const owners = [...new Set(waiting.map(({ owner }) => owner as Address))];
    const address = (await chain.quote()).stablecoin.address as Address;
    const contracts = owners.map(
      (owner) => ({ address, abi: stablecoinAbi, functionName: "balanceOf", args: [owner] }) as const,
    );
    const balances = await reader.multicall({ ...inBatches, contracts, blockNumber: head.number });
    const left = new Map(owners.map((owner, index) => [owner as string, balances[index] ?? 0n]));
    const short = waiting.filter(({ owner, value }) => {
      const rest = (left.get(owner) ?? 0n) - BigInt(value);
      if (rest >= 0n) left.set(owner, rest);
      return rest < 0n;
    });
    return new Set(short.map(({ id }) => id));
  }

  function isDeep({ block }: RelayRow, head: Head): boolean {
    return block !== null && Number(head.number) - block >= chain.confirmations;
  }

  /** Of a payment that is not made. Nothing of it is sent after its deadline but a claim, for a day. */
  function isForgotten({ state, expiresAt }: RelayRow, { timestamp }: Head): boolean {
    return state !== "confirmed" && timestamp >= BigInt(expiresAt + CLAIM_S);
  }

  function isYoung({ state, sentAt }: RelayRow): boolean {
    return state === "sent" && now() - (sentAt ?? 0) < RESEND_MS;
  }

  /** Resolves to whether a transaction of the relay is in no block yet. */
  async function step(row: RelayRow, head: Head, maySend: boolean): Promise<boolean> {
    const found = await look(chain, row, head.number);
    if (found.outcome === "made") {
      await account(row);
      put(row, {
        ...{ state: "confirmed", transaction: found.transaction, block: found.block ?? Number(head.number) },
        ...{ waits_for: null, reason: null, isOver: row.state === "confirmed" },
      });
      return false;
    }
    const isLate = head.timestamp >= BigInt(row.expiresAt);
    if (found.outcome === "over" || found.outcome === "left") return end(row, "failed", found.reason);
    if (found.outcome === "unknown") return unseen(row, head);
    if (found.outcome === "wait") return wait(row, found.why);
    if (!found.isClaim && isLate) return end(row, "expired", null);
    if (found.isClaim && isForgotten(row, head)) return end(row, "failed", NOT_CLAIMED);
    const again: RelayRow = {
      ...row,
      ...(found.isClaim ? { value: "0" } : { fromBlock: Math.max(row.fromBlock, firstBlockFrom(chain, head.number)) }),
      // A reorganization removed it, and it can be sent again.
      ...(row.state === "confirmed" ? { state: "accepted", block: null, sentAt: null } : {}),
    };
    const outcome = again.state === "sent" ? await receiptOf(again) : "none";
    if (outcome === "reverted") return reverted(again, found);
    // In a block after the head: the next round sees it.
    if (outcome === "success" || isYoung(again)) return true;
    return send(again, found, head, maySend);
  }

  /** It was unused when it was accepted: the node lacks its events yet, or the chain was reorganized. */
  function unseen(row: RelayRow, head: Head): false {
    if (row.state === "confirmed") put(row, { isOver: true });
    else if (Number(head.timestamp) < row.expiresAt + UNSEEN_S) {
      wait(row, "The authorization was used, and its event is not there yet.");
    } else end(row, "failed", usedBefore(row));
    return false;
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

  function reverted(row: RelayRow, { isClaim }: Due): false {
    const reverts = row.reverts + 1;
    void account(row).catch(() => undefined);
    const told = `Transaction ${row.transaction} reverted`;
    if (reverts >= MOST_REVERTS) {
      return end(row, "failed", `${told}, as ${reverts - 1} before it. ${isClaim ? IN_THE_DOOR : GIVEN_UP}`);
    }
    put(row, { state: "accepted", hashes: [], sentAt: null, reverts, waits_for: `${told}. It is tried again.` });
    return false;
  }

  /** Counts what a payment's transactions cost in place of the most that they could cost. */
  async function account({ hashes }: RelayRow): Promise<void> {
    const open = hashes.filter((hash) => spent.has(hash));
    const receipts = await Promise.all(open.map((hash) => reader.getTransactionReceipt({ hash }).catch(() => null)));
    const isMined = receipts.some((receipt) => receipt !== null);
    for (const [index, hash] of open.entries()) {
      const receipt = receipts[index] ?? null;
      const spend = spent.get(hash);
      spent.delete(hash);
      // Without any receipt the last transaction may still revert in a block: its most stays counted.
      if (receipt !== null) spend?.(receipt.gasUsed * receipt.effectiveGasPrice);
      else if (isMined || index > 0) spend?.(0n);
    }
  }

  /** Ends a payment that would revert, unless a transaction of it may still be in a block. */
  function giveUp(row: RelayRow, why: string, nonce: number): false {
    const mayBeMined = row.hashes.length > 0 && row.nonce !== null && row.nonce >= nonce;
    return mayBeMined ? wait(row, why) : end(row, "failed", `${why} ${GIVEN_UP}`);
  }

  /** The payer's doing: such a payment is not tried again. */
  async function cannotPay({ owner, value }: RelayRow, { number }: Head): Promise<string | null> {
    const quote = await chain.quote();
    const [isCode, dollars] = await Promise.all([
      hasCode(chain, owner, number),
      balanceOf(chain, quote, owner, number),
    ]);
    if (isCode) return HAS_CODE;
    return dollars < BigInt(value) ? "The payer has too few dollars left." : null;
  }

  async function send(row: RelayRow, { call, isClaim }: Due, head: Head, maySend: boolean): Promise<boolean> {
    const { account: sender, chain: network } = writer;
    const [nonce, balance, cannot] = await Promise.all([
      reader.getTransactionCount({ address: sender.address, blockNumber: head.number }),
      reader.getBalance({ address: sender.address }),
      isClaim ? null : cannotPay(row, head),
    ]);
    if (cannot !== null) return giveUp(row, cannot, nonce);
    if (!maySend) return false;
    const value = await chain.messageFeeWei(head.number);
    let gas: bigint;
    try {
      // In the block of the look, so that a payment that somebody made since is not called failed.
      const blockNumber = head.number;
      gas = ((await reader.estimateContractGas({ ...call, value, account: sender.address, blockNumber })) * 5n) / 4n;
    } catch (error) {
      const reason = revertOf(error);
      if (reason === undefined && balance <= value + settings.mostWei / 10n) return withoutGas(row, balance);
      if (reason === undefined) throw error;
      const failing = { ...row, failingSince: row.failingSince ?? now() };
      const why = `The payment would fail: ${reason || reasonOf(error)}.`;
      if (now() - failing.failingSince >= PATIENCE_MS) {
        return isClaim ? end(failing, "failed", `${why} ${IN_THE_DOOR}`) : giveUp(failing, why, nonce);
      }
      return wait(failing, `${why} It is tried again for a minute.`);
    }
    const fees = await feesOf(nonce);
    const mostWei = gas * fees.maxFeePerGas + value;
    if (mostWei > settings.mostWei) return wait(row, "Gas costs more than the relay pays for one payment at present.");
    if (balance < mostWei) return withoutGas(row, balance);
    if (budget.leftWei(chainId) < mostWei) {
      alert("budget exhausted", { task: "payment", chain: name, leftWei: String(budget.leftWei(chainId)) });
      return pause(row, "The relay's budget for gas is used for today. It goes on after 00:00 UTC.");
    }
    const data = encodeFunctionData(call);
    const serializedTransaction = await writer.signTransaction({
      ...{ account: sender, chain: network, to: call.address, data, value, gas, nonce, type: "eip1559", ...fees },
    });
    const hash = keccak256(serializedTransaction);
    spent.set(hash, budget.reserve(chainId, mostWei));
    put(row, {
      ...{ state: "sent", transaction: hash, hashes: [hash, ...row.hashes], nonce, sentAt: now() },
      ...{ feeWei: String(fees.maxFeePerGas), failingSince: null, waits_for: "The transaction is in no block yet." },
    });
    try {
      await reader.request({ method: "eth_sendRawTransaction", params: [serializedTransaction] });
    } catch (error) {
      // It may have arrived all the same. The next rounds look for it.
      log("info", "payment not taken", { chain: name, hash, reason: reasonOf(error) });
    }
    return true;
  }

  /** Of a transaction that may replace the stored ones with this nonce: both fees are raised by a tenth or more. */
  async function feesOf(nonce: number): Promise<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }> {
    const fees = await reader.estimateFeesPerGas();
    const rows = store.open(chainId).filter((each) => each.nonce === nonce);
    const last = rows.reduce((most, { feeWei }) => (BigInt(feeWei) > most ? BigInt(feeWei) : most), 0n);
    if (last === 0n) return fees;
    const raised = (last * 9n) / 8n + 1n;
    const maxFeePerGas = fees.maxFeePerGas > raised ? fees.maxFeePerGas : raised;
    const tip = (fees.maxPriorityFeePerGas * maxFeePerGas) / fees.maxFeePerGas + 1n;
    return { maxFeePerGas, maxPriorityFeePerGas: tip > maxFeePerGas ? maxFeePerGas : tip };
  }

  function withoutGas(row: RelayRow, balance: bigint): false {
    const address: Address = writer.account.address;
    alert("relay without gas", { task: "payment", chain: name, address, balanceWei: String(balance) });
    return pause(row, "The relay's account has no coin for gas. The operator is told.");
  }

  return { round };
}
