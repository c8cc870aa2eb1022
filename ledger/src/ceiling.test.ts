import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import fc from "fast-check";
import { accountPartition, ceilingPartition as ceiling } from "./partition.ts";
import { answer } from "./reads.ts";
import { account, follow, makeExample, midnight, noon, refusalOf, reserveCeiling } from "./testing/example.ts";
import { openMemoryHost } from "./testing/memory-host.ts";

const accounts = [1, 2, 3, 4, 5, 6].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
const fill = (host: ReturnType<typeof makeExample>, amount: number, count = 5) => {
  for (const [n, owner] of accounts.slice(0, count).entries()) {
    assert.equal(host.apply(ceiling, reserveCeiling(`fill${n}`, amount, { owner })).status, "reserved");
  }
};

test("the ceiling fills to its last nano-dollar: held, it may free up; settled, it is over until midnight", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 200);
  const owner = accounts[5] ?? "";
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r1", 1, { owner }))), [
    "ceiling",
    "held",
    1,
    0,
    "day",
    midnight,
  ]);
  for (let n = 0; n < 5; n++) host.apply(ceiling, follow(`fill${n}`, 200));
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r2", 1, { owner }))), [
    "ceiling",
    "settled",
    1,
    0,
    "day",
    midnight,
  ]);
  host.clock.now = midnight;
  assert.equal(host.apply(ceiling, reserveCeiling("r3", 200, { owner, at: midnight })).status, "reserved");
});

test("one nano-dollar more than the ceiling has is too much, one less is not", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 200, 4);
  host.apply(ceiling, reserveCeiling("r1", 199, { owner: accounts[4] ?? "" }));
  const owner = accounts[5] ?? "";
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r2", 2, { owner }))), [
    "ceiling",
    "held",
    2,
    1,
    "day",
    midnight,
  ]);
  assert.equal(host.apply(ceiling, reserveCeiling("r3", 1, { owner })).status, "reserved");
});

test("one account holds at most a fifth: alone it is too expensive, together too many", () => {
  const host = makeExample({ ceiling: 1_000 });
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r1", 201))), [
    "ceiling",
    "share",
    201,
    200,
    "day",
    null,
  ]);
  assert.equal(host.apply(ceiling, reserveCeiling("r2", 150)).status, "reserved");
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r3", 51))), [
    "ceiling",
    "share_held",
    51,
    50,
    "day",
    null,
  ]);
  assert.equal(host.apply(ceiling, reserveCeiling("r4", 50)).status, "reserved");
  host.apply(ceiling, follow("r2", 150));
  assert.equal(host.apply(ceiling, reserveCeiling("r5", 150)).status, "reserved", "what is settled is held no more");
});

test("a share is held over midnight, and its row goes with its last hold", () => {
  const host = makeExample({ ceiling: 1_000 });
  host.apply(ceiling, reserveCeiling("r1", 200));
  host.clock.now = midnight;
  assert.equal(refusalOf(host.apply(ceiling, reserveCeiling("r2", 1, { at: midnight })))[1], "share_held");
  host.apply(ceiling, follow("r1", null));
  assert.equal(host.rows(ceiling).get("counter", `share:${account}@0`), undefined);
});

test("who refuses first: share, then the ceiling, then the share that is held; a full day before all", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 200);
  const own = { owner: account };
  assert.equal(refusalOf(host.apply(ceiling, reserveCeiling("r1", 201, own)))[1], "share");
  assert.equal(refusalOf(host.apply(ceiling, reserveCeiling("r2", 1, own)))[1], "held");
  host.apply(ceiling, follow("fill4", null));
  assert.equal(refusalOf(host.apply(ceiling, reserveCeiling("r3", 1, own)))[1], "share_held");
  for (let n = 0; n < 4; n++) host.apply(ceiling, follow(`fill${n}`, 200));
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r4", 201, own))), [
    "ceiling",
    "share",
    201,
    200,
    "day",
    null,
  ]);
  host.apply(ceiling, reserveCeiling("r5", 100, own));
  host.apply(ceiling, follow("r5", 100));
  const partly = refusalOf(host.apply(ceiling, reserveCeiling("r6", 201, own)));
  assert.deepEqual(partly, ["ceiling", "share", 201, 100, "day", null], "no more than is left");
  host.apply(ceiling, reserveCeiling("r7", 100, own));
  host.apply(ceiling, follow("r7", 100));
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r8", 201, own))), [
    "ceiling",
    "settled",
    201,
    0,
    "day",
    midnight,
  ]);
});

test("whose holds are in the way of the ceiling: the account's own, or those of others", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 190);
  for (let n = 0; n < 5; n++) host.apply(ceiling, follow(`fill${n}`, 190));
  const [owner = "", other = ""] = accounts;
  host.apply(ceiling, reserveCeiling("own", 30, { owner }));
  const isOwn = (id: string, amount: number): boolean | undefined => {
    const reply = host.apply(ceiling, reserveCeiling(id, amount, { owner }));
    assert.equal(refusalOf(reply)[1], "held");
    return "refusal" in reply && reply.refusal.isOwn;
  };
  assert.equal(isOwn("r1", 30), true);
  host.apply(ceiling, reserveCeiling("other", 15, { owner: other }));
  assert.equal(isOwn("r2", 20), undefined);
  assert.equal(isOwn("r3", 21), true);
});

test("what an account holds of another day is not in the way of this one's ceiling", () => {
  const [owner = "", other = ""] = accounts;
  for (const [at, elsewhere] of [
    [midnight, noon],
    [midnight - 1, midnight],
  ] as const) {
    const host = makeExample({ ceiling: 1_000 });
    const isOwn = (id: string, amount: number): boolean | undefined => {
      const reply = host.apply(ceiling, reserveCeiling(id, amount, { owner, at }));
      assert.equal(refusalOf(reply)[1], "held");
      return "refusal" in reply && reply.refusal.isOwn;
    };
    host.clock.now = elsewhere;
    host.apply(ceiling, reserveCeiling("elsewhere", 60, { owner, at: elsewhere }));
    host.clock.now = midnight;
    for (const [n, account] of accounts.slice(1).entries()) {
      host.apply(ceiling, reserveCeiling(`fill${n}`, 170, { owner: account, at }));
      host.apply(ceiling, follow(`fill${n}`, 170));
    }
    host.apply(ceiling, reserveCeiling("other", 100, { owner: other, at }));
    assert.equal(isOwn("r1", 100), undefined, "150 are left of the day, but for the other's");
    host.apply(ceiling, reserveCeiling("own", 40, { owner, at }));
    assert.equal(isOwn("r2", 110), undefined);
    assert.equal(isOwn("r3", 111), true);
    host.apply(ceiling, follow("elsewhere", null));
    assert.equal(isOwn("r4", 110), undefined);
    assert.equal(isOwn("r5", 111), true);
  }
});

test("that an account's own holds are in the way is said only where they are", () => {
  const amount = fc.integer({ min: 1, max: 40 });
  const hold = fc.record({ day: fc.constantFrom(noon, midnight), who: fc.nat({ max: 2 }), amount });
  const each = fc.integer({ min: 48, max: 57 });
  let said = 0;
  fc.assert(
    fc.property(each, fc.array(hold, { minLength: 2, maxLength: 12 }), amount, (settled, holds, wanted) => {
      const host = makeExample({ ceiling: 300 });
      const [owner = ""] = accounts;
      host.clock.now = midnight;
      for (const [n, account] of accounts.slice(1).entries()) {
        host.apply(ceiling, reserveCeiling(`fill${n}`, settled, { owner: account, at: midnight }));
        host.apply(ceiling, follow(`fill${n}`, settled));
      }
      let own = 0;
      let elsewhere = 0;
      for (const [n, { day: at, who, amount }] of holds.entries()) {
        host.clock.now = at;
        const reserve = reserveCeiling(`r${n}`, amount, { owner: accounts[who] ?? "", at });
        if (host.apply(ceiling, reserve).status !== "reserved") continue;
        if (at === noon) elsewhere += amount;
        else if (who === 0) own += amount;
      }
      host.clock.now = midnight;
      const reply = host.apply(ceiling, reserveCeiling("asked", wanted, { owner, at: midnight }));
      if (!("refusal" in reply) || reply.refusal.cause !== "held") return;
      const isInTheWay = own + wanted > 300 - 5 * settled;
      const isOwn = reply.refusal.isOwn === true;
      if (isOwn) said += 1;
      assert.ok(isInTheWay || !isOwn, "said of holds of another day, or of others");
      assert.ok(isOwn || !isInTheWay || elsewhere > 0, "not said, and it was sure");
    }),
    { numRuns: 1_000 },
  );
  assert.ok(said > 0, "it was never said");
});

test("a share is exactly a fifth, rounded down, of any ceiling", () => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: MAX_NANO_USD }), (limit) => {
      const host = makeExample({ ceiling: limit });
      const reply = host.apply(ceiling, reserveCeiling("r1", limit));
      assert.equal(refusalOf(reply)[3], Number(BigInt(limit) / 5n));
    }),
  );
});

test("a ceiling lowered below what is held leaves nothing, and open holds stay good", () => {
  const host = makeExample({ ceiling: 1_000 });
  fill(host, 200);
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 500 });
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r1", 1))), ["ceiling", "held", 1, 0, "day", midnight]);
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: noon }).availableNanoUsd, 0);
  for (let n = 0; n < 5; n++) assert.equal(host.apply(ceiling, follow(`fill${n}`, 200)).status, "settled");
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r2", 1))), [
    "ceiling",
    "settled",
    1,
    0,
    "day",
    midnight,
  ]);
  host.apply(ceiling, { type: "setCeiling", limitNanoUsd: 1_001 });
  assert.equal(host.apply(ceiling, reserveCeiling("r3", 1)).status, "reserved");
});

test("a ceiling that was never set is none", () => {
  const host = openMemoryHost({ now: () => noon });
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r1", 1))), [
    "ceiling",
    "settled",
    1,
    0,
    "day",
    midnight,
  ]);
});

test("the same reserve answers as before, another is a conflict, another time is refused", () => {
  const host = makeExample({ ceiling: 1_000 });
  const first = host.apply(ceiling, reserveCeiling("r1", 100));
  const refused = host.apply(ceiling, reserveCeiling("r2", 101));
  host.apply(ceiling, follow("r1", 100));
  assert.deepEqual(host.apply(ceiling, reserveCeiling("r1", 100)), first);
  assert.deepEqual(host.apply(ceiling, reserveCeiling("r2", 101)), refused);
  for (const other of [{ at: noon + 1 }, { owner: accounts[1] ?? "" }, { leaseMs: 1 }, { amountNanoUsd: 99 }]) {
    assert.equal(host.apply(ceiling, reserveCeiling("r1", 100, other)).status, "conflict");
  }
  assert.equal(host.apply(ceiling, reserveCeiling("r3", 1, { at: noon + 60_000 })).status, "reserved");
  assert.equal(host.apply(ceiling, reserveCeiling("r4", 1, { at: noon + 60_001 })).status, "clock_skew");
});

test("a follower counts what the owner charged, once, on the day of admission", () => {
  const host = makeExample({ ceiling: 1_000 });
  host.apply(ceiling, reserveCeiling("r1", 100));
  host.clock.now = midnight + 1;
  for (let times = 0; times < 3; times++) assert.equal(host.apply(ceiling, follow("r1", 30)).status, "settled");
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: noon }).settledNanoUsd, 30);
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: midnight }).settledNanoUsd, 0);
  assert.equal(host.alerts.length, 0);
  assert.equal(host.apply(ceiling, follow("r1", 31)).status, "already_resolved");
  assert.equal(host.apply(ceiling, follow("r1", null)).status, "already_resolved");
  assert.equal(host.alerts.length, 2);
});

test("what its owner released before it came here is not held when it comes, nor when that is days ago", () => {
  const host = makeExample();
  const released = { ...follow("r1", null), admittedAt: noon };
  assert.equal(host.apply(ceiling, released).status, "released");
  assert.equal(host.apply(ceiling, reserveCeiling("r1", 10)).status, "conflict");
  assert.equal(host.apply(ceiling, released).status, "released");
  assert.deepEqual(host.alerts, []);
  // Of what would be too late by now, nothing is written down.
  host.clock.now = noon + 3 * 60_000;
  assert.equal(host.apply(ceiling, { ...follow("r2", null), admittedAt: noon }).status, "unknown");
  assert.equal(host.apply(ceiling, reserveCeiling("r2", 10)).status, "clock_skew");
  assert.deepEqual(
    host.all("hold").map(({ row }) => row.id),
    ["r1"],
  );
});

test("a refused hold is released in silence; an unknown one is reported only if it was charged", () => {
  const host = makeExample({ ceiling: 1_000 });
  host.apply(ceiling, reserveCeiling("r1", 201));
  assert.equal(host.apply(ceiling, follow("r1", null)).status, "released");
  assert.equal(host.apply(ceiling, follow("r2", null)).status, "unknown");
  assert.equal(host.alerts.length, 0);
  assert.equal(host.apply(ceiling, follow("r2", 1)).status, "unknown");
  assert.equal(host.apply(ceiling, follow("r1", 1)).status, "already_resolved");
  assert.equal(host.alerts.length, 2);
});

test("what is carried from an earlier day counts once, also above the limit, and leaves no room", () => {
  const host = makeExample({ ceiling: 100 });
  const carry = (id: string, amountNanoUsd: number, at = noon) =>
    host.apply(ceiling, { type: "carry", id, at, amountNanoUsd }).status;
  assert.equal(carry("batch:1", 90), "carried");
  assert.equal(carry("batch:1", 90), "carried");
  assert.equal(carry("batch:1", 91), "conflict");
  const settled = () => answer(host.rows(ceiling), { type: "ceiling", at: noon }).settledNanoUsd;
  assert.equal(settled(), 90);
  assert.equal(carry("batch:2", 20), "carried");
  assert.equal(settled(), 110);
  assert.deepEqual(refusalOf(host.apply(ceiling, reserveCeiling("r1", 1))).slice(0, 2), ["ceiling", "settled"]);
  assert.equal(carry("batch:3", 1, noon - 3 * 86_400_000), "late");
});
