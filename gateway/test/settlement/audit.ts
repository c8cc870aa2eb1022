import assert from "node:assert/strict";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { AllowanceRow, ReceiptRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { windowStart } from "@inference/protocol/window";
import type { Simulator } from "@inference/provider-simulator/server";
import type { ReceiptDetail } from "../../src/inference/charge/receipt.ts";
import type { HostUnderTest } from "../host.ts";

/** Compares the ledger's rows about finished requests. */
type ProviderRecord = ReturnType<Simulator["records"]["select"]>[number];

export type Settled = { receipt: ReceiptRow & { resolvedAt: number }; detail: ReceiptDetail };

/** Every request of an account that was forwarded, once none is in flight any more. */
export async function settledOf(host: HostUnderTest, address: Address): Promise<Settled[]> {
  const partition = accountPartition(address);
  const receipts = await eventually(async () => {
    const rows = await host.rows("receipt", partition);
    return rows.every(({ state }) => state !== "open" && state !== "orphaned") ? rows : false;
  });
  // Where limits are told later, they are told before they are looked at.
  await eventually(async () => (await host.rows("outbox", partition)).length === 0);
  return receipts.flatMap(({ resolvedAt, ...receipt }) => {
    if (resolvedAt === null || receipt.detail === "") return [];
    return [{ receipt: { ...receipt, resolvedAt }, detail: JSON.parse(receipt.detail) as ReceiptDetail }];
  });
}

/** The one request of an account. Its receipt, balance, use and ceiling agree. */
export async function settledOne(host: HostUnderTest, address: Address): Promise<Settled> {
  const all = await settledOf(host, address);
  const [settled] = all;
  assert.ok(settled !== undefined && all.length === 1, `the account has ${all.length} receipts, not one`);
  await checkAccount(host, address, all);
  return settled;
}

/**
 * Nothing is held, and receipts, balance, uses and allowances say the same.
 *
 * @param all Every request of the account.
 */
export async function checkAccount(host: HostUnderTest, address: Address, all: readonly Settled[]): Promise<void> {
  const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
  assert.equal(heldNanoUsd, 0, "the account still holds something");
  const receipts = all.map(({ receipt }) => receipt);
  assert.equal(settledNanoUsd, chargesOf(receipts), "balance and receipts differ");
  for (const { id, state, chargeNanoUsd, heldNanoUsd: held } of receipts) {
    assert.ok(chargeNanoUsd <= held, `${id} is charged more than was held`);
    assert.ok(state === "settled" || chargeNanoUsd === 0, `${id} is ${state} and charged`);
  }
  await checkUses(host, address, receipts);
  await checkAllowances(host, address, receipts);
}

/** The uses fill the account's line from 0 without a gap, each with the charge of its receipt. */
async function checkUses(host: HostUnderTest, address: Address, receipts: readonly ReceiptRow[]): Promise<void> {
  const charged = new Map(receipts.filter(({ chargeNanoUsd }) => chargeNanoUsd > 0).map((one) => [one.id, one]));
  let endsAtNanoUsd = 0;
  for (const { id, receipt: receiptId, costNanoUsd, admittedAt } of await host.rows("use", accountPartition(address))) {
    endsAtNanoUsd += costNanoUsd;
    assert.equal(Number(id), endsAtNanoUsd, `${receiptId}: a gap before its use`);
    const receipt = charged.get(receiptId);
    const told = [receipt?.endsAtNanoUsd, receipt?.chargeNanoUsd, receipt?.admittedAt];
    assert.deepEqual(told, [endsAtNanoUsd, costNanoUsd, admittedAt], `${receiptId}: receipt and use differ`);
    charged.delete(receiptId);
  }
  assert.deepEqual([...charged.keys()], [], "charges without a use");
}

/** An account's use of the ceiling is its charge of that day, and the ceiling has allowed it. */
async function checkAllowances(host: HostUnderTest, address: Address, receipts: readonly ReceiptRow[]): Promise<void> {
  const partition = accountPartition(address);
  const own = await host.rows("allowance", partition);
  for (const day of new Set(receipts.map(({ admittedAt }) => windowStart("day", admittedAt)))) {
    const charged = chargesOf(receipts.filter(({ admittedAt }) => windowStart("day", admittedAt) === day));
    const row = own.find(({ id }) => id === `${day} ${ceilingPartition}`);
    assert.equal(row?.usedNanoUsd ?? 0, charged, "receipts and the account's allowance differ");
    const [atCeiling] = await host.rows("allowance", ceilingPartition, `${day} ${partition}`);
    if (row !== undefined) checkAllowance(row, atCeiling);
  }
}

/** The ceiling knows what was used, exactly if it is not taken in pieces, and has allowed it. */
function checkAllowance(own: AllowanceRow, atCeiling: AllowanceRow | undefined): void {
  const { usedNanoUsd = 0, allowedNanoUsd = 0 } = atCeiling ?? {};
  assert.ok(usedNanoUsd <= own.usedNanoUsd, "the ceiling knows of more than was used");
  assert.ok(own.usedNanoUsd <= allowedNanoUsd, "more was used than the ceiling allowed");
  if (own.inPieces === 0 && own.dueAt === null) {
    assert.deepEqual([usedNanoUsd, allowedNanoUsd], [own.usedNanoUsd, own.usedNanoUsd], "the ceiling was not told");
  }
}

/** With nothing in flight: the sums of accounts, their uses and the ceiling are one number. */
export async function checkSums(host: HostUnderTest): Promise<number> {
  let charged = 0;
  let used = 0;
  for (const address of host.accounts) {
    const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
    assert.equal(heldNanoUsd, 0, `${address} still holds something`);
    charged += settledNanoUsd;
    const uses = await host.rows("use", accountPartition(address));
    assert.equal(
      sum(uses.map(({ costNanoUsd }) => costNanoUsd)),
      settledNanoUsd,
      `${address}: uses and balance differ`,
    );
    for (const row of await host.rows("allowance", accountPartition(address))) {
      const [day = "", limit] = row.id.split(" ");
      if (limit !== ceilingPartition) continue;
      used += row.usedNanoUsd;
      checkAllowance(row, (await host.rows("allowance", limit, `${day} ${accountPartition(address)}`))[0]);
    }
  }
  assert.equal(used, charged, "allowances and accounts differ");
  // Allowances are lowered at any time, also between the two reads.
  await eventually(async () => {
    const allowances = await host.rows("allowance", ceilingPartition);
    const counters = (await host.rows("counter", ceilingPartition)).filter(({ id }) => id.startsWith("ceiling@"));
    const settled = sum(allowances.map(({ usedNanoUsd }) => usedNanoUsd));
    const held = sum(allowances.map(({ usedNanoUsd, allowedNanoUsd }) => allowedNanoUsd - usedNanoUsd));
    const counted = [sum(counters.map((row) => row.settledNanoUsd)), sum(counters.map((row) => row.heldNanoUsd))];
    assert.deepEqual(counted, [settled, held], "the ceiling's counters and allowances differ");
  });
  return charged;
}

function chargesOf(receipts: readonly ReceiptRow[]): number {
  return sum(receipts.map(({ chargeNanoUsd }) => chargeNanoUsd));
}

/** The provider's record of the request with this text in its body, once it is finished there. */
export async function providerRecord(host: HostUnderTest, tag: string): Promise<ProviderRecord> {
  return eventually(() => {
    const [record] = providerRecords(host, tag);
    return record === undefined || record.finishedAtMs === null ? false : record;
  });
}

/** The operator's alerts about a request: impossible usage, losses, and other models. */
export async function alertsOf(
  host: HostUnderTest,
  requestId: string,
): Promise<{ usage: string[]; losses: number[]; models: string[] }> {
  const lines = await host.said(requestId);
  const told = (event: string, level = "alert") =>
    lines.filter((line) => line.level === level && line.event === event && line.request === requestId);
  return {
    usage: told("usage").map(({ alert }) => String(alert)),
    losses: told("loss").map(({ lossNanoUsd }) => Number(lossNanoUsd)),
    models: told("other_model").map(({ answered }) => String(answered)),
  };
}

export function providerRecords(host: HostUnderTest, tag: string): ProviderRecord[] {
  return host.simulator.simulator.records.select((record) => record.body?.includes(tag) === true, 1_000);
}

/** The provider's bill for a request, in nano-dollars rounded up once; 0 if it billed nothing. */
export function billed({ billedAtto }: ProviderRecord): number {
  return Number(((billedAtto ?? 0n) + 999_999_999n) / 1_000_000_000n);
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
