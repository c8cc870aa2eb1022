import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { utcDay } from "@inference/protocol/window";
import type { Allow, AllowReply } from "../messages/commands.ts";
import { accountPartition, ceilingPartition as ceiling, type Partition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import { makeExample, midnight, noon } from "../testing/example.ts";

const accounts = [1, 2, 3, 4, 5, 6].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
const today = midnight - 86_400_000;
type Host = ReturnType<typeof makeExample>;
let asked = 0;

/** An ask of an account that used and holds so much, and needs so much more. */
function ask(account: Partition, terms: { used?: number; held?: number; more?: number; piece?: number }): Allow {
  const { used: usedNanoUsd = 0, held = 0, more = 0, piece = 0 } = terms;
  asked += 1;
  const leastNanoUsd = usedNanoUsd + held;
  const neededNanoUsd = leastNanoUsd + more;
  const amounts = { usedNanoUsd, leastNanoUsd, neededNanoUsd, wantedNanoUsd: neededNanoUsd + piece };
  return { type: "allow", account, day: today, askedAt: asked, ...amounts, offer: null };
}

function refusal({ refusal: told }: AllowReply): unknown[] {
  return [told?.cause, told?.neededNanoUsd, told?.availableNanoUsd, told?.resetsAt];
}

const [alice = "", bob = "", ...others] = accounts;
const fill = (host: Host, more: number) => {
  for (const account of [bob, ...others]) assert.equal(host.apply(ceiling, ask(account, { more })).status, "allowed");
};
const left = (host: Host) => answer(host.rows(ceiling), { type: "ceiling", at: noon }).availableNanoUsd;

test("allowances fill the ceiling to its last nano-dollar: unused, it may free up; used, it is over until midnight", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 160);
  assert.deepEqual(refusal(host.apply(ceiling, ask(alice, { more: 200 }))), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(left(host), 0);
  const [last = ""] = others;
  assert.deepEqual(refusal(host.apply(ceiling, ask(last, { held: 160, more: 1 }))), ["held", 1, 0, midnight]);
  for (const account of [bob, ...others]) host.apply(ceiling, ask(account, { used: 160 }));
  host.apply(ceiling, ask(alice, { used: 200 }));
  assert.deepEqual(refusal(host.apply(ceiling, ask(alice, { used: 200, more: 1 }))), ["settled", 1, 0, midnight]);
});

test("one account may be allowed a fifth of what is free beyond what it used, and one request in any case", () => {
  const host = makeExample({ ceiling: 1_000 });
  assert.deepEqual(refusal(host.apply(ceiling, ask(alice, { more: 201 }))), ["share", 201, 200, null]);
  assert.equal(host.apply(ceiling, ask(alice, { more: 150 })).status, "allowed");
  assert.deepEqual(refusal(host.apply(ceiling, ask(alice, { held: 150, more: 51 }))), ["share_held", 51, 50, null]);
  assert.equal(host.apply(ceiling, ask(alice, { used: 150, more: 150 })).status, "allowed");
  for (const account of [bob, ...others]) host.apply(ceiling, ask(account, { used: 100 }));
  // 350 are free now, and a fifth is 70.
  assert.deepEqual(refusal(host.apply(ceiling, ask(bob, { used: 100, held: 1, more: 40 }))), [
    "share_held",
    40,
    39,
    null,
  ]);
  assert.equal(host.apply(ceiling, ask(bob, { used: 100, more: 190 })).status, "allowed");
});

test("a refused raise lowers to what is used and held", () => {
  const host = makeExample({ ceiling: 1_000 });
  host.apply(ceiling, ask(alice, { more: 200 }));
  const { allowedNanoUsd } = host.apply(ceiling, ask(alice, { used: 30, held: 50, more: 900 }));
  assert.equal(allowedNanoUsd, 80);
  assert.equal(left(host), 920);
});

test("of two figures of an account's use the larger counts, also above the limit", () => {
  const host = makeExample({ ceiling: 100 });
  host.apply(ceiling, ask(alice, { used: 150 }));
  assert.equal(host.apply(ceiling, ask(alice, { used: 20 })).usedNanoUsd, 150);
  const { settledNanoUsd, availableNanoUsd } = answer(host.rows(ceiling), { type: "ceiling", at: noon });
  assert.deepEqual([settledNanoUsd, availableNanoUsd], [150, 0]);
  assert.deepEqual(refusal(host.apply(ceiling, ask(bob, { more: 1 }))), ["settled", 1, 0, midnight]);
});

test("an ask that is late or repeated changes nothing, and answers the row as it stands", () => {
  const host = makeExample({ ceiling: 1_000 });
  const late = ask(alice, { more: 200 });
  const first = ask(alice, { more: 50 });
  const reply = host.apply(ceiling, first);
  assert.deepEqual(host.apply(ceiling, first), reply);
  assert.deepEqual(host.apply(ceiling, late), reply);
  assert.equal(left(host), 950);
});

test("a piece is what is wanted within the share, and never less than the request", () => {
  const host = makeExample({ ceiling: 1_000 });
  assert.equal(host.apply(ceiling, ask(alice, { more: 10, piece: 90 })).allowedNanoUsd, 90);
  assert.equal(host.apply(ceiling, ask(bob, { more: 10, piece: 900 })).allowedNanoUsd, 182);
  for (const account of others) host.apply(ceiling, ask(account, { used: 150 }));
  // Free are 310: a fifth is less than the request.
  assert.equal(host.apply(ceiling, ask(bob, { used: 10, more: 100, piece: 150 })).allowedNanoUsd, 110);
});

test("an allowance in pieces stays within a fifth of what others left of a twentieth of the ceiling, also told again", () => {
  const host = makeExample({ ceiling: 10_000 });
  const inPieces = (account: Partition, more: number) => {
    const { allowedNanoUsd, stays } = host.apply(ceiling, ask(account, { more, piece: more }));
    return [allowedNanoUsd, stays];
  };
  assert.equal(host.apply(ceiling, ask(alice, { more: 50 })).stays, false, "it is lowered with its request");
  const first = ask(alice, { more: 50, piece: 50 });
  for (let times = 0; times < 2; times += 1) {
    const { allowedNanoUsd, stays } = host.apply(ceiling, first);
    assert.deepEqual([allowedNanoUsd, stays], [100, true]);
  }
  assert.deepEqual(inPieces(bob, 81), [81, false], "a fifth of 400 is less");
  host.apply(ceiling, ask(bob, { used: 81 }));
  for (const account of others) assert.equal(inPieces(account, 20)[1], true);
  assert.deepEqual(inPieces(bob, 1_000_000), [81, false], "it was refused");
  const [carol = ""] = others;
  const again = ask(carol, { more: 30, piece: 30 });
  assert.equal(host.apply(ceiling, again).stays, true);
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 1_000 });
  assert.equal(host.apply(ceiling, again).stays, false, "told again, once the ceiling is lower");
});

test("what may stay until the day is over is refused as used: to ask again before midnight is of no use", () => {
  const host = makeExample({ ceiling: 1_000 });
  const inPieces = (account: Partition, more: number) => host.apply(ceiling, ask(account, { more, piece: more }));
  assert.equal(inPieces(alice, 5).stays, true);
  for (const account of others) host.apply(ceiling, ask(account, { used: 235 }));
  assert.deepEqual(refusal(inPieces(bob, 51)), ["settled", 51, 50, midnight]);
  assert.deepEqual(
    refusal(host.apply(ceiling, ask(bob, { more: 51 }))),
    ["held", 51, 50, midnight],
    "exact: it frees up",
  );
  assert.equal(host.apply(ceiling, ask(bob, { more: 50 })).status, "allowed");
});

test("after the ceiling was lowered nothing more is given, and what was given stays until its account lowers it", () => {
  const host = makeExample({ ceiling: 1_000 });
  host.apply(ceiling, ask(alice, { more: 200 }));
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 100 });
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: noon }).heldNanoUsd, 200);
  assert.deepEqual(refusal(host.apply(ceiling, ask(bob, { more: 1 }))), ["held", 1, 0, midnight]);
  host.apply(ceiling, ask(alice, { used: 10 }));
  assert.equal(host.apply(ceiling, ask(bob, { more: 18 })).status, "allowed");
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 0 });
  assert.equal(refusal(host.apply(ceiling, ask(alice, { used: 10, more: 1 })))[0], "settled");
});

test("the carry of earlier days is taken from the day, once", () => {
  const host = makeExample({ ceiling: 1_000 });
  const carry = (amountNanoUsd: number) => host.apply(ceiling, { type: "setCarry", day: utcDay(noon), amountNanoUsd });
  host.apply(ceiling, ask(alice, { more: 200 }));
  assert.deepEqual(
    [carry(900), carry(900), carry(1)].map(({ status }) => status),
    ["set", "set", "conflict"],
  );
  const { limitNanoUsd, heldNanoUsd } = answer(host.rows(ceiling), { type: "ceiling", at: noon });
  assert.deepEqual([limitNanoUsd, heldNanoUsd], [100, 200]);
  assert.equal(refusal(host.apply(ceiling, ask(bob, { more: 20 })))[0], "held");
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: midnight }).limitNanoUsd, 1_000);
});

test("an emptied ceiling gives nothing until every account has told again what it used and holds", () => {
  const host = makeExample({ ceiling: 1_000 });
  for (const account of accounts) host.apply(ceiling, ask(account, { used: 30, held: 10 }));
  assert.equal(host.apply(ceiling, { type: "empty", at: noon, limit: 4 }).status, "more");
  assert.equal(host.apply(ceiling, { type: "empty", at: noon, limit: 4 }).status, "emptied");
  assert.deepEqual(refusal(host.apply(ceiling, ask(alice, { used: 30, held: 10, more: 1 }))), ["held", 1, 0, midnight]);
  for (const account of accounts) host.apply(ceiling, ask(account, { used: 30, held: 10 }));
  assert.equal(left(host), 1_000 - 6 * 40);
  assert.equal(host.apply(ceiling, { type: "fill" }).status, "filled");
  assert.equal(host.apply(ceiling, ask(alice, { used: 30, held: 10, more: 1 })).status, "allowed");
});

test("the rows of days that are over go, and an ask for such a day leaves none", () => {
  const host = makeExample({ ceiling: 1_000 });
  for (const account of accounts) host.apply(ceiling, ask(account, { used: 30, held: 10 }));
  host.clock.now = noon + 3 * 86_400_000;
  const day = today + 3 * 86_400_000;
  for (const account of accounts.slice(0, 3)) host.apply(ceiling, { ...ask(account, { used: 5 }), day });
  const rows = host.rows(ceiling).list("allowance", { limit: 99 });
  assert.deepEqual(
    rows.map(({ id }) => id),
    accounts.slice(0, 3).map((account) => `${day} ${account}`),
  );
  assert.deepEqual(host.rows(ceiling).list("counter", { limit: 9 }).length, 1);
  const { status, allowedNanoUsd } = host.apply(ceiling, ask(alice, { used: 30, held: 10, more: 5 }));
  assert.deepEqual([status, allowedNanoUsd], ["allowed", 40]);
  assert.equal(host.rows(ceiling).list("allowance", { limit: 99 }).length, 3);
});

test("a clock that is set back over midnight finds the rows of the day before yesterday as they were", () => {
  const host = makeExample({ ceiling: 1_000 });
  for (const account of accounts) host.apply(ceiling, ask(account, { used: 30, held: 10 }));
  host.clock.now = midnight + 86_400_000;
  host.apply(ceiling, { ...ask(alice, { used: 5 }), day: host.clock.now });
  host.clock.now -= 1_000;
  assert.equal(host.apply(ceiling, ask(bob, { used: 35 })).status, "allowed");
  const { settledNanoUsd, heldNanoUsd } = answer(host.rows(ceiling), { type: "ceiling", at: noon });
  assert.deepEqual([settledNanoUsd, heldNanoUsd], [185, 50]);
});

test("a ceiling of the largest amount is shared exactly", () => {
  const host = makeExample({ ceiling: MAX_NANO_USD });
  const share = MAX_NANO_USD / 5;
  assert.equal(refusal(host.apply(ceiling, ask(alice, { more: share + 1 })))[0], "share");
  assert.equal(host.apply(ceiling, ask(alice, { more: share })).status, "allowed");
});

test("a lowered ceiling stores its block", () => {
  const host = makeExample();
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 5, lowered: { block: 7, blockHash: "0x7" } });
  assert.equal(answer(host.rows(ceiling), { type: "cursor" })?.block, 7);
});
