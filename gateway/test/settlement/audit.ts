import assert from "node:assert/strict";
import { words } from "@inference/ledger/hold-row";
import { journalsOf } from "@inference/ledger/journals";
import {
  accountPartition,
  ceilingPartition,
  isCeiling,
  journalPartition,
  journalUnder,
  type Partition,
} from "@inference/ledger/partition";
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
    const ceiling = ceilingOf(hold);
    if (ceiling !== undefined) await checkCeilingHold(host, ceiling, { ...hold, id });
    const journal = journalPartition(journalUnder(hold.ceiling, utcDay(receipt.admittedAt)));
    const uses = await host.rows("use", journal, id);
    if (outcome === "released") assert.deepEqual(uses, [], "a released request is in the journal");
    else assert.deepEqual(uses.map(useTerms), [{ account: address, chargeNanoUsd, admittedAt: receipt.admittedAt }]);
  }
  const covered = all.filter(({ hold }) => ceilingOf(hold) === undefined);
  await checkBlocks(host, accountPartition(address), covered);
}

/** The ceiling, or the shard of it, that holds the request itself; undefined if a block covers it. */
function ceilingOf({ followers }: HoldRow): Partition | undefined {
  return words(followers).find(isCeiling);
}

async function checkCeilingHold(
  host: HostUnderTest,
  ceiling: Partition,
  { id, state, amountNanoUsd, chargeNanoUsd }: Pick<HoldRow, "id" | "state" | "amountNanoUsd" | "chargeNanoUsd">,
): Promise<void> {
  const [held] = await host.rows("hold", ceiling, id);
  assert.equal(held?.state, state, "the ceiling heard of another end");
  assert.equal(held.chargeNanoUsd, chargeNanoUsd, "the ceiling heard of another charge");
  assert.ok(held.amountNanoUsd >= amountNanoUsd, "the ceiling holds too little");
}

/**
 * The open blocks of an account, or of a shard of the ceiling. With nothing in flight those of accounts hold nothing,
 * and those of shards only blocks of accounts.
 */
async function openBlocks(host: HostUnderTest, partition: Partition): Promise<OpenBlock[]> {
  const blocks = await host.rows("block", partition);
  return Promise.all(
    blocks.map(async ({ id, drawnBy, amountNanoUsd, ceiling }) => {
      const [counter] = await host.rows("counter", partition, `block:${id}@${id}`);
      const { settledNanoUsd = 0, heldNanoUsd = 0 } = counter ?? {};
      if (!isCeiling(partition)) assert.equal(heldNanoUsd, 0, "a block still holds something");
      assert.ok(settledNanoUsd + heldNanoUsd <= amountNanoUsd, "more is charged than the block has");
      return { drawnBy, amountNanoUsd, chargedNanoUsd: settledNanoUsd, heldBy: ceiling ?? ceilingPartition };
    }),
  );
}

type OpenBlock = { drawnBy: string; amountNanoUsd: number; chargedNanoUsd: number; heldBy: Partition };

/** What the ceiling holds of requests, without the accounts' blocks. */
export async function heldByCeiling(host: HostUnderTest): Promise<number> {
  const { heldNanoUsd } = await host.read(ceilingPartition, { type: "ceiling", at: host.now() });
  const blocks = await Promise.all(host.accounts.map((address) => host.rows("block", accountPartition(address))));
  return heldNanoUsd - sum(blocks.flat().map(({ amountNanoUsd }) => amountNanoUsd));
}

async function checkBlocks(host: HostUnderTest, partition: Partition, covered: readonly Settled[]): Promise<void> {
  const open = await openBlocks(host, partition);
  for (const { drawnBy: id, amountNanoUsd, heldBy } of open) {
    await checkCeilingHold(host, heldBy, { id, state: "open", amountNanoUsd, chargeNanoUsd: 0 });
  }
  const ended = (await host.rows("hold", partition)).filter(({ id }) => id.endsWith(".block"));
  for (const hold of ended) {
    await checkCeilingHold(host, hold.followers, { ...hold, id: hold.id.slice(0, -".block".length) });
  }
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
 * blocks by the ceiling and its shards.
 */
export async function checkSums(host: HostUnderTest): Promise<number> {
  let charged = 0;
  const blocks: OpenBlock[] = [];
  const shards = new Set<Partition>();
  for (const address of host.accounts) {
    const { settledNanoUsd, heldNanoUsd } = await host.balance(address);
    assert.equal(heldNanoUsd, 0, `${address} still holds something`);
    charged += settledNanoUsd;
    blocks.push(...(await openBlocks(host, accountPartition(address))));
    for (const { ceiling } of await host.rows("hold", accountPartition(address))) {
      if (ceiling !== null) shards.add(ceiling);
    }
  }
  for (const shard of shards) {
    await eventually(async () => (await host.rows("outbox", shard)).length === 0);
    blocks.push(...(await openBlocks(host, shard)));
  }
  for (const ceiling of [ceilingPartition, ...shards]) await checkHeldBlocks(host, ceiling, blocks);
  const inBlocks = sum(blocks.map(({ chargedNanoUsd }) => chargedNanoUsd));
  const counters = await host.rows("counter", ceilingPartition);
  const settled = sum(counters.map(({ settledNanoUsd }) => settledNanoUsd));
  assert.equal(settled + inBlocks, charged, "ceiling and accounts differ");
  const days = new Set<string>();
  for (const address of host.accounts) {
    const receipts = await host.rows("receipt", accountPartition(address));
    for (const { admittedAt } of receipts) days.add(utcDay(admittedAt));
  }
  let journalled = 0;
  for (const journal of (await Promise.all([...days].map((day) => journalsOf(host, day)))).flat()) {
    const { settledNanoUsd } = await host.read(journalPartition(journal), { type: "journal" });
    const uses = await host.rows("use", journalPartition(journal));
    const sumOfUses = sum(uses.map(({ chargeNanoUsd }) => chargeNanoUsd));
    assert.equal(sumOfUses, settledNanoUsd, `${journal}: uses and total differ`);
    journalled += settledNanoUsd;
  }
  assert.equal(journalled, charged, "journals and accounts differ");
  return charged;
}

/** What a ceiling holds is the open blocks that were drawn from it. */
async function checkHeldBlocks(host: HostUnderTest, ceiling: Partition, blocks: readonly OpenBlock[]): Promise<void> {
  const own = blocks.filter(({ heldBy }) => heldBy === ceiling);
  const held = { heldNanoUsd: sum(own.map(({ amountNanoUsd }) => amountNanoUsd)), openHolds: own.length };
  const counters = await host.rows("counter", ceiling);
  for (const name of ["ceiling@", "share:", "blocks@"]) {
    const counted = counters.filter(({ id }) => id.startsWith(name));
    const heldNanoUsd = sum(counted.map((counter) => counter.heldNanoUsd));
    const openHolds = sum(counted.map((counter) => counter.openHolds));
    assert.deepEqual({ heldNanoUsd, openHolds }, held, `${ceiling}: ${name} and the blocks differ`);
  }
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
