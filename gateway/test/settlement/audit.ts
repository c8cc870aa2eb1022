import assert from "node:assert/strict";
import { accountPartition, ceilingPartition, journalPartition } from "@inference/ledger/partition";
import type { HoldRow, ReceiptRow, UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { utcDay } from "@inference/protocol/window";
import type { Simulator } from "@inference/provider-simulator/server";
import type { ReceiptDetail } from "../../src/inference/receipt-detail.ts";
import type { HostUnderTest } from "../host.ts";

/** What the books say of requests that are over, held against one another. */
type ProviderRecord = ReturnType<Simulator["records"]["select"]>[number];

export type Settled = {
  receipt: ReceiptRow;
  detail: ReceiptDetail;
  hold: HoldRow;
};

/** Every request of an account, once none of them is in flight any more. */
export async function settledOf(host: HostUnderTest, address: Address, ms?: number): Promise<Settled[]> {
  const partition = accountPartition(address);
  const holds = await eventually(async () => {
    const rows = await host.rows("hold", partition);
    return rows.every(({ state }) => state !== "open" && state !== "orphaned") ? rows : false;
  }, ms);
  // Where followers are told later, they are told before they are looked at.
  await eventually(async () => (await host.rows("outbox", partition)).length === 0);
  const receipts = new Map((await host.rows("receipt", partition)).map((receipt) => [receipt.id, receipt]));
  return holds.flatMap((hold) => {
    const receipt = receipts.get(hold.id);
    return receipt === undefined ? [] : [{ receipt, hold, detail: JSON.parse(receipt.detail) as ReceiptDetail }];
  });
}

/** The one request of an account. Its books agree: hold, receipt, balance, journal and ceiling. */
export async function settledOne(host: HostUnderTest, address: Address, ms?: number): Promise<Settled> {
  const all = await settledOf(host, address, ms);
  const [settled] = all;
  assert.ok(settled !== undefined && all.length === 1, `the account has ${all.length} receipts, not one`);
  await checkAccount(host, address, all);
  return settled;
}

/** Nothing is held, and receipts, balance, journal and the ceiling's hold say the same. */
export async function checkAccount(host: HostUnderTest, address: Address, all: readonly Settled[]): Promise<void> {
  const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
  assert.equal(heldNanoUsd, 0, "the account still holds something");
  assert.equal(settledNanoUsd, sum(all.map(({ receipt }) => receipt.chargeNanoUsd)), "balance and receipts differ");
  for (const { receipt, hold } of all) {
    const { id, chargeNanoUsd, outcome } = receipt;
    assert.equal(hold.state, outcome);
    assert.equal(hold.chargeNanoUsd, chargeNanoUsd);
    assert.equal(hold.amountNanoUsd, receipt.heldNanoUsd);
    assert.ok(chargeNanoUsd <= hold.amountNanoUsd, "charged more than was held");
    const [follower] = await host.rows("hold", ceilingPartition, id);
    assert.equal(follower?.state, outcome, "the ceiling heard of another end");
    assert.equal(follower?.chargeNanoUsd, chargeNanoUsd, "the ceiling heard of another charge");
    const uses = await host.rows("use", journalPartition(utcDay(receipt.admittedAt)), id);
    if (outcome === "released") assert.deepEqual(uses, [], "a released request is in the journal");
    else assert.deepEqual(uses.map(useTerms), [{ account: address, chargeNanoUsd, admittedAt: receipt.admittedAt }]);
  }
}

function useTerms({ account, chargeNanoUsd, admittedAt }: UseRow): Partial<UseRow> {
  return { account, chargeNanoUsd, admittedAt };
}

/**
 * With nothing in flight: the sums of accounts, journals and the ceiling are one number, and nothing is held
 * anywhere.
 */
export async function checkSums(host: HostUnderTest): Promise<number> {
  let charged = 0;
  for (const address of host.accounts) {
    const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
    assert.equal(heldNanoUsd, 0, `${address} still holds something`);
    charged += settledNanoUsd;
  }
  const counters = await host.rows("counter", ceilingPartition);
  assert.equal(sum(counters.map(({ heldNanoUsd }) => heldNanoUsd)), 0, "the ceiling still holds something");
  assert.equal(sum(counters.map(({ openHolds }) => openHolds)), 0, "the ceiling still counts open holds");
  assert.equal(sum(counters.map(({ settledNanoUsd }) => settledNanoUsd)), charged, "ceiling and accounts differ");
  const days = new Set<string>();
  for (const address of host.accounts) {
    const receipts = await host.rows("receipt", accountPartition(address));
    for (const { admittedAt } of receipts) days.add(utcDay(admittedAt));
  }
  let journalled = 0;
  for (const day of days) {
    const { settledNanoUsd } = await host.read(journalPartition(day), { type: "journal" });
    const uses = await host.rows("use", journalPartition(day));
    assert.equal(sum(uses.map(({ chargeNanoUsd }) => chargeNanoUsd)), settledNanoUsd, `${day}: uses and total differ`);
    journalled += settledNanoUsd;
  }
  assert.equal(journalled, charged, "journals and accounts differ");
  return charged;
}

/** What the provider saw of the request with this text in its body, once it is over there. */
export async function providerRecord(host: HostUnderTest, tag: string): Promise<ProviderRecord> {
  return eventually(() => {
    const [record] = providerRecords(host, tag);
    return record === undefined || record.finishedAtMs === null ? false : record;
  });
}

/** What the operator was told of a request: that its usage makes no sense, of losses, and of other models. */
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
