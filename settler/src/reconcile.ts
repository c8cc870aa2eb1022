import { createAlarm } from "@inference/chain/alarm";
import { readBlock } from "@inference/chain/chain-view";
import type { ChainClient } from "@inference/chain/rpc";
import { readUint } from "@inference/chain/settlement-view";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { isRead } from "@inference/ledger/tables";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import { GRACE_MS } from "./carry.ts";

/**
 * Reconciles each day of the ceiling once, when everything that it paid is final: what the contract says it debited =
 * the records that were read = statements of this ledger + foreign postings. A statement's uses fill it by arithmetic:
 * each begins where the last one ended. Then the provider's bill of the day is read.
 */
export type Reconciler = {
  /** Reconciles the days that are due. Never throws. May take minutes. */
  poll(): Promise<void>;
};

export type ReconcilerOptions = {
  client: ChainClient;
  settlement: Address;
  ledger: LedgerClient;
  chainId: number;
  now(): number;
  onAlert(message: string): void;
  /** Absent: the provider has no record of its charges, or the operator does not have it read. */
  billing?: Billing | undefined;
};

/** A UTC day in the provider's record and in ours. */
export type Billing = {
  /** The cost of the day's requests at list prices. Null: it cannot be added up any more. */
  listedOn(day: string): Promise<NanoUsd | null>;
  /** The provider's charges for the day. Null: its record cannot be read now, and the operator was told. */
  chargedOn(day: string, listedNanoUsd: NanoUsd): Promise<NanoUsd | null>;
};

/** The days that are looked at. */
const OPEN_DAYS = 30;
/** The last days whose provider's record is read, and the time between two tries of one that cannot be read. */
const BILLED_DAYS = 7;
const BILL_RETRY_MS = 3_600_000;

const noSums = { statementsNanoUsd: 0, foreignNanoUsd: 0, chunks: 0 };

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { client, settlement, ledger, now } = options;
  const partition = chainPartition(options.chainId);
  const alarm = createAlarm(options);
  /** When the record of a day could last not be read. */
  const billTriedAt = new Map<string, number>();

  async function reconcileDue(): Promise<void> {
    const cursor = await ledger.read(partition, { type: "cursor" });
    if (!isRead(cursor)) return;
    const block = await readBlock(client, cursor.block);
    if (block?.hash !== cursor.blockHash) return;
    const last = dayNumber(block.at - GRACE_MS) - 1;
    const known = await ledger.read(partition, { type: "reconciliations", limit: OPEN_DAYS });
    const closed = known.find(({ closedAt }) => closedAt !== null);
    const oldest =
      closed === undefined ? (known.at(-1)?.id ?? utcDay(last * DAY_MS)) : utcDay(Date.parse(closed.id) + DAY_MS);
    for (let day = dayNumber(Date.parse(oldest)); day <= last; day++) {
      const view = { to: settlement, abi: inferenceSettlementAbi, functionName: "paidNanoUsd", args: [BigInt(day)] };
      const paid = await readUint(client, view, block);
      if (paid === null) return;
      await reconcile(utcDay(day * DAY_MS), Number(paid));
    }
  }

  async function reconcile(day: string, debitedNanoUsd: NanoUsd): Promise<void> {
    const read = await ledger.read(partition, { type: "reconciliation", day });
    const sums = read === null ? noSums : (JSON.parse(read.detail) as Reconciliation);
    const { statementsNanoUsd, foreignNanoUsd } = sums;
    const listed = options.billing && { listedNanoUsd: await options.billing.listedOn(day) };
    const record: Reconciliation = { ...sums, debitedNanoUsd, ...listed };
    const unexplainedNanoUsd = Math.abs(debitedNanoUsd - statementsNanoUsd - foreignNanoUsd);
    const detail = JSON.stringify(record);
    const row = { id: day, at: now(), closedAt: now(), unexplainedNanoUsd, detail };
    await ledger.run(() => send(partition, { type: "reconcile", ...row }), { untilDurable: true });
    if (unexplainedNanoUsd > 0)
      options.onAlert(`${day}: ${unexplainedNanoUsd} nano-dollars are unexplained: ${detail}`);
    if (foreignNanoUsd > 0)
      options.onAlert(`${day}: ${foreignNanoUsd} nano-dollars were debited for no statement: ${detail}`);
  }

  /**
   * Reads the provider's record of the newest day that lacks it: one a poll, because a record can have many pages. A
   * day that cannot be read holds up no other.
   */
  async function noteBill({ chargedOn }: Billing): Promise<void> {
    const days = await ledger.read(partition, { type: "reconciliations", limit: BILLED_DAYS });
    for (const { id: day, closedAt, detail } of days) {
      const { listedNanoUsd = null, providerNanoUsd: known } = JSON.parse(detail) as Reconciliation;
      if (closedAt === null || listedNanoUsd === null || known !== undefined) continue;
      if (now() - (billTriedAt.get(day) ?? Number.NEGATIVE_INFINITY) < BILL_RETRY_MS) continue;
      const providerNanoUsd = await chargedOn(day, listedNanoUsd);
      if (providerNanoUsd === null) billTriedAt.set(day, now());
      else await ledger.run(() => send(partition, { type: "noteBill", day, providerNanoUsd }), { untilDurable: true });
      return;
    }
  }

  return {
    async poll() {
      try {
        await reconcileDue();
        if (options.billing !== undefined) await noteBill(options.billing);
      } catch (error) {
        if (error instanceof LedgerUnavailable || error instanceof ChainUnavailable) return;
        alarm("failed", `the reconciliation failed, and is tried again: ${String(error)}`);
      }
    },
  };
}
