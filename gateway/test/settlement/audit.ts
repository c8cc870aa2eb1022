import assert from "node:assert/strict";
import { words } from "@inference/ledger/hold-row";
import { accountPartition, ceilingPartition, journalPartition, type Partition } from "@inference/ledger/partition";
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

/**
 * Nothing is held, and receipts, balance, journal and the ceiling say the same. The ceiling has a hold of each request,
 * except of those that a block covers: of them it has the blocks, which agree in sum.
 *
 * @param all Every request of the account.
 */
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
    if (isHeldByCeiling(hold)) await checkCeilingHold(host, id, hold);
    const uses = await host.rows("use", journalPartition(utcDay(receipt.admittedAt)), id);
    if (outcome === "released") assert.deepEqual(uses, [], "a released request is in the journal");
    else assert.deepEqual(uses.map(useTerms), [{ account: address, chargeNanoUsd, admittedAt: receipt.admittedAt }]);
  }
  const covered = all.filter(({ hold }) => !isHeldByCeiling(hold));
  await checkBlocks(host, accountPartition(address), covered);
}

function isHeldByCeiling({ followers }: HoldRow): boolean {
  return words(followers).includes(ceilingPartition);
}

async function checkCeilingHold(
  host: HostUnderTest,
  id: string,
  { state, amountNanoUsd, chargeNanoUsd }: Pick<HoldRow, "state" | "amountNanoUsd" | "chargeNanoUsd">,
): Promise<void> {
  const [held] = await host.rows("hold", ceilingPartition, id);
  assert.equal(held?.state, state, "the ceiling heard of another end");
  assert.equal(held.chargeNanoUsd, chargeNanoUsd, "the ceiling heard of another charge");
  assert.ok(held.amountNanoUsd >= amountNanoUsd, "the ceiling holds too little");
}

/** An account's blocks that are open. Nothing is in flight, so they hold nothing. */
async function openBlocks(host: HostUnderTest, partition: Partition): Promise<OpenBlock[]> {
  const blocks = await host.rows("block", partition);
  return Promise.all(
    blocks.map(async ({ id, drawnBy, amountNanoUsd }) => {
      const [counter] = await host.rows("counter", partition, `block:${id}@${id}`);
      assert.equal(counter?.heldNanoUsd, 0, "a block still holds something");
      assert.ok(counter.settledNanoUsd <= amountNanoUsd, "more is charged than the block has");
      return { drawnBy, amountNanoUsd, chargedNanoUsd: counter.settledNanoUsd };
    }),
  );
}

type OpenBlock = { drawnBy: string; amountNanoUsd: number; chargedNanoUsd: number };

/** What the ceiling holds of requests, without the accounts' blocks. */
export async function heldByCeiling(host: HostUnderTest): Promise<number> {
  const { heldNanoUsd } = await host.read(ceilingPartition, { type: "ceiling", at: host.now() });
  const blocks = await Promise.all(host.accounts.map((address) => host.rows("block", accountPartition(address))));
  return heldNanoUsd - sum(blocks.flat().map(({ amountNanoUsd }) => amountNanoUsd));
}

async function checkBlocks(host: HostUnderTest, partition: Partition, covered: readonly Settled[]): Promise<void> {
  const open = await openBlocks(host, partition);
  for (const { drawnBy, amountNanoUsd } of open) {
    await checkCeilingHold(host, drawnBy, { state: "open", amountNanoUsd, chargeNanoUsd: 0 });
  }
  const ended = (await host.rows("hold", partition)).filter(({ id }) => id.endsWith(".block"));
  for (const hold of ended) await checkCeilingHold(host, hold.id.slice(0, -".block".length), hold);
  assert.equal(
    sum(open.map(({ chargedNanoUsd }) => chargedNanoUsd)) + sum(ended.map(({ chargeNanoUsd }) => chargeNanoUsd)),
    sum(covered.map(({ receipt }) => receipt.chargeNanoUsd)),
    "the blocks are charged another sum than what they cover",
  );
}

function useTerms({ account, chargeNanoUsd, admittedAt }: UseRow): Partial<UseRow> {
  return { account, chargeNanoUsd, admittedAt };
}

/**
 * With nothing in flight: the sums of accounts, journals and the ceiling are one number. Nothing is held anywhere, except
 * the accounts' blocks by the ceiling.
 */
export async function checkSums(host: HostUnderTest): Promise<number> {
  let charged = 0;
  const blocks: OpenBlock[] = [];
  for (const address of host.accounts) {
    const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
    assert.equal(heldNanoUsd, 0, `${address} still holds something`);
    charged += settledNanoUsd;
    blocks.push(...(await openBlocks(host, accountPartition(address))));
  }
  const held = { heldNanoUsd: sum(blocks.map(({ amountNanoUsd }) => amountNanoUsd)), openHolds: blocks.length };
  const counters = await host.rows("counter", ceilingPartition);
  for (const name of ["ceiling@", "share:", "blocks@"]) {
    const counted = counters.filter(({ id }) => id.startsWith(name));
    const heldNanoUsd = sum(counted.map((counter) => counter.heldNanoUsd));
    const openHolds = sum(counted.map((counter) => counter.openHolds));
    assert.deepEqual({ heldNanoUsd, openHolds }, held, `the ceiling's ${name} and the blocks differ`);
  }
  const inBlocks = sum(blocks.map(({ chargedNanoUsd }) => chargedNanoUsd));
  const settled = sum(counters.map(({ settledNanoUsd }) => settledNanoUsd));
  assert.equal(settled + inBlocks, charged, "ceiling and accounts differ");
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
