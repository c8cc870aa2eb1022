import assert from "node:assert/strict";
import { test } from "node:test";
import { type AccountResult, type Fault, makeWorld } from "./testing/statements/world.ts";

/** Settlement by totals, as the ledger does it, played with faults at random. */
const WORLDS = process.env.DEEP === "1" ? 20_000 : 40;
const LIMITED_WORLDS = Number(process.env.WORLDS ?? (process.env.DEEP === "1" ? 1_000 : 10));
const FIRST = Number(process.env.FIRST_SEED ?? 0);
const STEPS = 600;
const all: Fault[] = ["network", "reorganize", "foreign", "restoreAccount", "restoreChain", "settlers", "ceiling"];
const withoutLoss = all.filter((fault) => fault !== "restoreAccount" && fault !== "foreign");

test("every use is debited exactly once, whatever is lost, repeated, late, reorganized or read anew", () => {
  for (let seed = 0; seed < WORLDS; seed += 1) {
    for (const result of play(seed, withoutLoss)) {
      checkAlways(result, seed);
      assert.equal(result.debited, sum(result.uses), `seed ${seed}: debits are not the uses`);
      assert.deepEqual(sorted(result.charged), sorted(result.uses), `seed ${seed}: leaves are not the uses`);
      assert.equal(result.bill.takenOverNanoUsd, 0, `seed ${seed}: a takeover without cause`);
    }
  }
});

test("old copies of accounts and foreign postings cost the customer nothing", () => {
  for (let seed = 0; seed < WORLDS; seed += 1) {
    for (const result of play(seed, all)) checkAlways(result, seed);
  }
});

test("partitions put back at random admit no more than the limits and the named losses, and the books name each", () => {
  const limited: Fault[] = [...all, "limits", "restoreIdentity", "restoreCeiling"];
  // In world 119 an account was admitted above its balance while it did not hear after its restore.
  // In the narrow worlds 7, 17, 37 and 79 more was admitted than the ceiling allows, each with another fault in the code:
  // docs/testing.md.
  const worlds = Array.from({ length: LIMITED_WORLDS }, (_, index) => FIRST + index);
  const narrow: Fault[] = [...limited, "narrow"];
  const played = [
    ...[119, ...worlds].map((seed) => ({ seed, results: () => play(seed, limited) })),
    ...[7, 17, 37, 79, ...worlds].map((seed) => ({ seed, results: () => play(seed, narrow, 4) })),
  ];
  for (const { seed, results } of played) {
    for (const result of results()) {
      checkAlways(result, seed);
      checkNamed(result, seed);
    }
  }
});

test("a hold of an old copy is not charged again, also if no party knows of its first end", () => {
  // In each of these worlds a hold was charged twice before copies' holds were released.
  const seeds = process.env.DEEP === "1" ? Array.from({ length: WORLDS }, (_, seed) => seed) : [109, 2475, 2977];
  for (const seed of seeds) {
    for (const result of play(seed, ["restoreAccount", "restoreChain", "reorganize"])) checkAlways(result, seed);
  }
});

/** Plays a world to its end. */
function play(seed: number, faults: readonly Fault[], accounts = 2): readonly AccountResult[] {
  const world = makeWorld({ random: randomOf(seed), accounts, faults: new Set(faults) });
  try {
    for (let step = 0; step < STEPS; step += 1) world.step();
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error });
  }
  world.quiesce();
  return world.results();
}

function checkAlways({ bill, activated, debited, uses, charged, foreign }: AccountResult, seed: number): void {
  assert.ok(debited <= activated, `seed ${seed}: ${debited} debited of ${activated}`);
  assert.ok(debited <= sum(uses) + foreign, `seed ${seed}: ${debited} debited for ${sum(uses)} and ${foreign}`);
  for (const [id, amount] of charged) {
    assert.ok(amount <= (uses.get(id) ?? 0), `seed ${seed}: ${id} is charged with ${amount} of ${uses.get(id)}`);
  }
  // A statement waits for credit only.
  const isDone = bill.open === null && bill.settledNanoUsd === bill.baseNanoUsd;
  assert.ok(isDone || debited === activated, `seed ${seed}: a statement waits although there is credit`);
  assert.equal(bill.debitedNanoUsd, debited, `seed ${seed}: the account has not heard its final total`);
}

/** Debits for uses that the account lost are in its alerts, and each debit of somebody else is in the chain's books. */
function checkNamed({ charged, known, alerted, foreign, unstated }: AccountResult, seed: number): void {
  const lost = [...charged].reduce((total, [id, amount]) => total + (known.has(id) ? 0 : amount), 0);
  assert.ok(lost <= alerted, `seed ${seed}: ${lost} were debited for lost uses, and the alerts name ${alerted}`);
  assert.ok(foreign <= unstated, `seed ${seed}: ${foreign} are foreign, and the chain's books name ${unstated}`);
}

function sum(uses: ReadonlyMap<string, number>): number {
  return [...uses.values()].reduce((total, cost) => total + cost, 0);
}

function sorted(uses: ReadonlyMap<string, number>): [string, number][] {
  return [...uses].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
