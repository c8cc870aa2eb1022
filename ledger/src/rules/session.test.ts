import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../messages/reads.ts";
import {
  admit,
  bySession,
  identity,
  makeExample,
  midnight,
  noon,
  openSession,
  refusalOf,
  reserve,
  settle,
} from "../testing/example.ts";

test("a nonce is good once, for the session it was spent for", () => {
  const host = makeExample();
  const consume = { type: "consumeNonce", at: noon, nonce: "n1", expiresAt: noon + 1, digest: "session1" } as const;
  assert.equal(host.apply(identity, consume).status, "consumed");
  assert.equal(host.apply(identity, consume).status, "consumed", "its answer may have been lost");
  assert.equal(host.apply(identity, { ...consume, digest: "session2", expiresAt: noon + 99 }).status, "nonce_used");
  assert.equal(host.rows(identity).get("nonce", "n1")?.expiresAt, noon + 1);
});

test("a session is valid at once, dead at once when revoked, and never opens again", () => {
  const host = makeExample();
  const payer = { kind: "session", digest: "session1" } as const;
  const read = (at: number) => answer(host.rows(identity), { type: "credential", at, payer });
  assert.deepEqual(Object.keys(read(noon)), ["keyId", "session"]);
  assert.deepEqual(read(noon + 86_400_000), { fault: "expired" });
  assert.equal(host.apply(identity, { type: "revokeSession", at: noon, digest: "session1" }).status, "revoked");
  assert.equal(host.apply(identity, { type: "revokeSession", at: noon + 5, digest: "session1" }).status, "revoked");
  assert.equal(host.rows(identity).get("session", "session1")?.revokedAt, noon);
  host.apply(identity, openSession("session1"));
  assert.deepEqual(read(noon), { fault: "revoked" });
  assert.equal(host.apply(identity, { type: "revokeSession", at: noon, digest: "none" }).status, "unknown");
});

for (const { name, at, other } of [
  { name: "before midnight", at: midnight + 5 * 60_000, other: midnight - 60_000 },
  { name: "after it, by another's clock", at: midnight - 60_000, other: midnight + 59_999 },
]) {
  test(`an identity has 32 requests in flight at most, those that were admitted ${name} among them`, () => {
    const host = makeExample();
    for (const day of [noon, midnight]) host.apply(identity, { type: "setCapacity", at: day, limitNanoUsd: 100 });
    host.clock.now = other;
    for (let n = 0; n < 20; n++) admit(host, identity, reserve(`o${n}`, 1, { ...bySession, at: other }));
    host.clock.now = Math.max(at, other - 60_000);
    const ask = (id: string) => admit(host, identity, reserve(id, 1, { ...bySession, at }));
    for (let n = 0; n < 12; n++) assert.equal(ask(`r${n}`).status, "reserved");
    assert.equal(refusalOf(ask("r12"))[1], "in_flight");
    host.apply(identity, settle("o1", 1));
    assert.equal(ask("r13").status, "reserved");
    assert.equal(refusalOf(ask("r14"))[1], "in_flight");
  });
}
