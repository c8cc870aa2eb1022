import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReceiptDetail } from "@inference/gateway/inference/exchange";
import { accountPartition, ceilingPartition, journalPartition } from "@inference/ledger/partition";
import { tableSql } from "@inference/ledger/sql";
import type { HoldRow, ReceiptRow, TableName, Tables, UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { utcDay } from "@inference/protocol/window";
import type { Simulator } from "@inference/provider-simulator/server";
import type { Stack } from "./stack.ts";

/** What the books say of requests that are over, held against one another. */
type ProviderRecord = ReturnType<Simulator["records"]["select"]>[number];

export type Settled = {
  receipt: ReceiptRow;
  detail: ReceiptDetail;
  hold: HoldRow;
};

/** Polls until something is there; fails saying what was waited for. */
export async function until<T>(
  what: string,
  find: () => T | undefined | Promise<T | undefined>,
  ms = 8_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > deadline) assert.fail(`waited ${ms} ms for ${what}`);
    await sleep(5);
  }
}

/** The rows of a table in one partition, from the disk. */
export function rowsOf<T extends TableName>(stack: Stack, table: T, partition: string): Tables[T][] {
  // Without a commit thread this commits here and now.
  void stack.ledger.flush();
  const { list, toRow } = tableSql[table];
  return stack.database
    .prepare(list)
    .all(partition, "", 100_000)
    .map((columns) => toRow(columns) as Tables[T]);
}

/** Every request of an account, once none of them is in flight any more. */
export async function settledOf(stack: Stack, address: Address, ms?: number): Promise<Settled[]> {
  const partition = accountPartition(address);
  const holds = await until(
    "every hold to be resolved",
    () => {
      const rows = rowsOf(stack, "hold", partition);
      return rows.every(({ state }) => state !== "open" && state !== "orphaned") ? rows : undefined;
    },
    ms,
  );
  const receipts = new Map(rowsOf(stack, "receipt", partition).map((receipt) => [receipt.id, receipt]));
  return holds.flatMap((hold) => {
    const receipt = receipts.get(hold.id);
    return receipt === undefined ? [] : [{ receipt, hold, detail: JSON.parse(receipt.detail) as ReceiptDetail }];
  });
}

/** The one request of an account. Its books agree: hold, receipt, balance, journal and ceiling. */
export async function settledOne(stack: Stack, address: Address, ms?: number): Promise<Settled> {
  const all = await settledOf(stack, address, ms);
  const [settled] = all;
  assert.ok(settled !== undefined && all.length === 1, `the account has ${all.length} receipts, not one`);
  await checkAccount(stack, address, all);
  return settled;
}

/** Nothing is held, and receipts, balance, journal and the ceiling's hold say the same. */
export async function checkAccount(stack: Stack, address: Address, all: readonly Settled[]): Promise<void> {
  const { settledNanoUsd, heldNanoUsd } = await stack.balance(address);
  assert.equal(heldNanoUsd, 0, "the account still holds something");
  assert.equal(settledNanoUsd, sum(all.map(({ receipt }) => receipt.chargeNanoUsd)), "balance and receipts differ");
  const followers = new Map(rowsOf(stack, "hold", ceilingPartition).map((hold) => [hold.id, hold]));
  for (const { receipt, hold } of all) {
    const { id, chargeNanoUsd, outcome } = receipt;
    assert.equal(hold.state, outcome);
    assert.equal(hold.chargeNanoUsd, chargeNanoUsd);
    assert.equal(hold.amountNanoUsd, receipt.heldNanoUsd);
    assert.ok(chargeNanoUsd <= hold.amountNanoUsd, "charged more than was held");
    const follower = followers.get(id);
    assert.equal(follower?.state, outcome, "the ceiling heard of another end");
    assert.equal(follower?.chargeNanoUsd, chargeNanoUsd, "the ceiling heard of another charge");
    const day = rowsOf(stack, "use", journalPartition(utcDay(receipt.admittedAt)));
    const uses = day.filter((use) => use.id === id);
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
export async function checkSums(stack: Stack, addresses: readonly Address[]): Promise<number> {
  let charged = 0;
  for (const address of addresses) {
    const { settledNanoUsd, heldNanoUsd } = await stack.balance(address);
    assert.equal(heldNanoUsd, 0, `${address} still holds something`);
    charged += settledNanoUsd;
  }
  const counters = rowsOf(stack, "counter", ceilingPartition);
  assert.equal(sum(counters.map(({ heldNanoUsd }) => heldNanoUsd)), 0, "the ceiling still holds something");
  assert.equal(sum(counters.map(({ openHolds }) => openHolds)), 0, "the ceiling still counts open holds");
  assert.equal(sum(counters.map(({ settledNanoUsd }) => settledNanoUsd)), charged, "ceiling and accounts differ");
  const days = new Set(
    addresses.flatMap((address) =>
      rowsOf(stack, "receipt", accountPartition(address)).map(({ admittedAt }) => utcDay(admittedAt)),
    ),
  );
  let journalled = 0;
  for (const day of days) {
    const { settledNanoUsd } = await stack.ledger.read(journalPartition(day), { type: "journal" });
    const uses = rowsOf(stack, "use", journalPartition(day));
    assert.equal(sum(uses.map(({ chargeNanoUsd }) => chargeNanoUsd)), settledNanoUsd, `${day}: uses and total differ`);
    journalled += settledNanoUsd;
  }
  assert.equal(journalled, charged, "journals and accounts differ");
  return charged;
}

/** What the provider saw of the request with this text in its body, once it is over there. */
export async function providerRecord(stack: Stack, tag: string): Promise<ProviderRecord> {
  return until(`the provider to be done with ${tag}`, () => {
    const [record] = providerRecords(stack, tag);
    return record === undefined || record.finishedAtMs === null ? undefined : record;
  });
}

export function providerRecords(stack: Stack, tag: string): ProviderRecord[] {
  return stack.simulator.simulator.records.select((record) => record.body?.includes(tag) === true, 1_000);
}

/** The provider's bill for a request, in nano-dollars rounded up once; 0 if it billed nothing. */
export function billed({ billedAtto }: ProviderRecord): number {
  return Number(((billedAtto ?? 0n) + 999_999_999n) / 1_000_000_000n);
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
