import assert from "node:assert/strict";
import { test } from "node:test";
import type { Claim, Commands } from "../messages/commands.ts";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  bySession,
  createKey,
  identity,
  makeExample,
  noon,
  release,
  reserve,
  settle,
} from "../testing/example.ts";

const DAY = 86_400_000;
const claim: Claim = { id: "chat retry-1", fingerprint: "a body", expiresAt: noon + DAY };

function claiming(id: string, more: Partial<Claim> = {}, at = noon): Commands["reserve"]["command"] {
  return { ...reserve(id, 10), at, claim: { ...claim, ...more } };
}

test("a request's name is taken while it runs and once it is settled", () => {
  const ledger = makeExample();
  assert.equal(admit(ledger, account, claiming("one")).status, "reserved");
  assert.deepEqual(admit(ledger, account, claiming("two")), { status: "claimed", by: "one", state: "in_progress" });
  ledger.apply(account, { type: "orphan", id: "one", at: noon, graceMs: 1 });
  assert.deepEqual(admit(ledger, account, claiming("two")), { status: "claimed", by: "one", state: "in_progress" });
  ledger.apply(account, settle("one", 0));
  assert.deepEqual(admit(ledger, account, claiming("two")), { status: "claimed", by: "one", state: "completed" });
  assert.equal(ledger.rows(account).get("receipt", "two"), undefined);
});

test("the same name for another body is a mismatch, whatever became of the first", () => {
  const ledger = makeExample();
  const mismatch = { status: "claimed", by: "one", state: "mismatch" };
  admit(ledger, account, claiming("one"));
  assert.deepEqual(admit(ledger, account, claiming("two", { fingerprint: "another" })), mismatch);
  ledger.apply(account, settle("one", 10));
  assert.deepEqual(admit(ledger, account, claiming("two", { fingerprint: "another" })), mismatch);
});

test("a request that is refused or cost nothing has given its name back", () => {
  const ledger = makeExample({ balance: 15 });
  const dear = { ...claiming("one"), amountNanoUsd: 16 };
  assert.equal(admit(ledger, account, dear).status, "refused");
  assert.equal(admit(ledger, account, claiming("two")).status, "reserved");
  ledger.apply(account, release("two"));
  assert.equal(admit(ledger, account, claiming("three", { fingerprint: "another" })).status, "reserved");
});

test("a name is free again when its time is over, to the millisecond", () => {
  const ledger = makeExample();
  admit(ledger, account, claiming("one"));
  ledger.apply(account, settle("one", 10));
  ledger.clock.now = noon + DAY;
  assert.equal(admit(ledger, account, claiming("two", {}, noon + DAY - 1)).status, "claimed");
  assert.equal(admit(ledger, account, claiming("three", {}, noon + DAY)).status, "reserved");
});

test("a name belongs to one account, and to all its keys", () => {
  const ledger = makeExample();
  admit(ledger, account, claiming("one"));
  assert.equal(admit(ledger, identity, { ...claiming("one"), ...bySession }).status, "reserved");
  ledger.apply(account, createKey("key2"));
  const byOther = { ...claiming("two"), payer: { kind: "key", digest: "digest of key2" } as const };
  assert.equal(admit(ledger, account, byOther).status, "claimed");
  const byNobody = { ...claiming("three"), payer: { kind: "key", digest: "no key" } as const };
  assert.equal(admit(ledger, account, byNobody).status, "unauthenticated");
});

test("repeating a reserve answers as before, and with another name is a conflict", () => {
  const ledger = makeExample();
  const first = admit(ledger, account, claiming("one"));
  assert.deepEqual(admit(ledger, account, claiming("one")), first);
  assert.equal(admit(ledger, account, claiming("one", { id: "chat retry-2" })).status, "conflict");
  assert.equal(admit(ledger, account, reserve("one", 10)).status, "conflict");
});

test("a name is forgotten two days after its end, and not before", () => {
  const ledger = makeExample();
  admit(ledger, account, claiming("one"));
  const forget = (at: number): unknown => {
    ledger.clock.now = at;
    return ledger.apply(account, { type: "forget", at, table: "claim", ids: [claim.id] });
  };
  assert.deepEqual(forget(noon + 3 * DAY), { forgotten: 0 });
  assert.deepEqual(forget(noon + 3 * DAY + 1), { forgotten: 1 });
});

test("a good credential learns whether a name is taken, as the reserve would tell it", () => {
  const ledger = makeExample();
  const payer = reserve("x", 0).payer;
  const ask = (more: Partial<Claim> = {}, by = payer) =>
    answer(ledger.rows(account), { type: "claimed", at: noon, payer: by, claim: { ...claim, ...more } });
  assert.deepEqual(ask(), { earlier: null });
  admit(ledger, account, claiming("one"));
  for (const more of [{}, { fingerprint: "another" }, { id: "another" }]) {
    const told = ask(more);
    const reply = admit(ledger, account, claiming(`after ${JSON.stringify(more)}`, more));
    assert.deepEqual(told, { earlier: reply.status === "claimed" ? reply : null });
  }
  assert.deepEqual(ask({}, { kind: "key", digest: "no key" }), { fault: "unknown" });
});
