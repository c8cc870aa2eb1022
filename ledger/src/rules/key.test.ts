import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "@inference/protocol/window";
import type { Commands } from "../messages/commands.ts";
import { answer } from "../messages/reads.ts";
import { account, admit, createKey, makeExample, noon, refusalOf, reserve, settle } from "../testing/example.ts";

const keys = (host: ReturnType<typeof makeExample>) =>
  answer(host.rows(account), { type: "keys", at: noon }).map(({ key }) => key.id);

test("a message makes one key: again it answers as before, and no other key", () => {
  const host = makeExample();
  assert.equal(host.apply(account, createKey("key2")).status, "created");
  assert.equal(host.apply(account, createKey("key2")).status, "created");
  assert.deepEqual(keys(host), ["key1", "key2"]);
  assert.equal(host.rows(account).get("account", "account")?.keys, 2);
  assert.equal(host.apply(account, createKey("key3", { nonce: "nonce of key2" })).status, "nonce_used");
  const again = { digest: "a new secret" };
  assert.equal(host.apply(account, createKey("key2", again)).status, "nonce_used", "its secret would not work");
  assert.equal(host.rows(account).get("key", "key2")?.digest, "digest of key2");
});

test("an id that is taken stays as it is, under a new message too", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { limitNanoUsd: 5 }));
  assert.equal(host.apply(account, createKey("key2", { nonce: "new", limitNanoUsd: 500 })).status, "nonce_used");
  assert.equal(host.rows(account).get("key", "key2")?.limitNanoUsd, 5);
  assert.equal(host.rows(account).get("account", "account")?.keys, 2);
});

test("a message that signed in makes no key, and one that made a key is no sign-in", () => {
  const host = makeExample();
  host.apply(account, { type: "consumeNonce", at: noon, nonce: "n1", expiresAt: noon + 1, digest: "s" });
  assert.equal(host.apply(account, createKey("key2", { nonce: "n1" })).status, "nonce_used");
  assert.equal(
    host.apply(account, { type: "consumeNonce", at: noon, nonce: "nonce of key1", expiresAt: noon, digest: "s" })
      .status,
    "nonce_used",
  );
});

test("an account has 100 keys at most; a revoked one makes room, once, and the message is still good", () => {
  const host = makeExample();
  for (let n = 2; n <= 100; n++) assert.equal(host.apply(account, createKey(`key${n}`)).status, "created");
  assert.equal(host.apply(account, createKey("key101")).status, "too_many_keys");
  for (let times = 0; times < 2; times++) {
    assert.equal(host.apply(account, { type: "revokeKey", at: noon, keyId: "key7" }).status, "revoked");
  }
  assert.equal(host.apply(account, createKey("key101")).status, "created");
  assert.equal(host.apply(account, createKey("key102")).status, "too_many_keys");
  assert.equal(keys(host).length, 100);
});

test("every live key is listed, however many have been revoked", () => {
  const host = makeExample();
  for (let n = 0; n < 1_005; n++) {
    host.apply(account, createKey(`a${n}`));
    host.apply(account, { type: "revokeKey", at: noon, keyId: `a${n}` });
  }
  assert.deepEqual(keys(host), ["key1"]);
});

test("a key's limit is lowered, never raised; what is settled above it leaves nothing", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { limitNanoUsd: 100 }));
  const update = (limitNanoUsd: number) =>
    host.apply(account, { type: "updateKey", keyId: "key2", limitNanoUsd }).status;
  const payer = { kind: "key", digest: "digest of key2" } as const;
  admit(host, account, reserve("r1", 60, { payer }));
  assert.equal(update(101), "would_raise");
  assert.equal(update(100), "updated");
  assert.equal(update(50), "updated");
  assert.equal(update(51), "would_raise");
  assert.deepEqual(refusalOf(admit(host, account, reserve("r2", 1, { payer }))), [
    "key",
    "held",
    1,
    0,
    "lifetime",
    null,
  ]);
  assert.equal(host.apply(account, settle("r1", 60)).status, "settled", "an open hold stays good");
  assert.deepEqual(refusalOf(admit(host, account, reserve("r3", 1, { payer }))), [
    "key",
    "settled",
    1,
    0,
    "lifetime",
    null,
  ]);
  assert.equal(update(0), "updated");
});

test("an unlimited key is counted, so that a limit set later finds what was spent", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 60));
  host.apply(account, settle("r1", 60));
  assert.equal(answer(host.rows(account), { type: "key", keyId: "key1", at: noon })?.budget.availableNanoUsd, null);
  host.apply(account, { type: "updateKey", keyId: "key1", limitNanoUsd: 70 });
  assert.deepEqual(refusalOf(admit(host, account, reserve("r2", 11))), ["key", "settled", 11, 10, "lifetime", null]);
});

test("a property that an update leaves out stays", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { name: "laptop", limitNanoUsd: 9 }));
  host.apply(account, { type: "updateKey", keyId: "key2", disabled: true });
  host.apply(account, { type: "updateKey", keyId: "key2", name: "desk" });
  const { name, disabled, limitNanoUsd } = host.rows(account).get("key", "key2") ?? {};
  assert.deepEqual({ name, disabled, limitNanoUsd }, { name: "desk", disabled: 1, limitNanoUsd: 9 });
  assert.equal(host.rows(account).get("key", "key2")?.limitNanoUsd, 9);
});

test("revoked is for ever, and unknown is unknown", () => {
  const host = makeExample();
  host.apply(account, { type: "revokeKey", at: noon, keyId: "key1" });
  assert.equal(host.apply(account, { type: "updateKey", keyId: "key1", disabled: false }).status, "unknown");
  assert.equal(host.apply(account, createKey("key1")).status, "created", "as before");
  assert.deepEqual(keys(host), []);
  assert.equal(host.apply(account, { type: "revokeKey", at: noon, keyId: "none" }).status, "unknown");
  assert.equal(host.apply(account, { type: "updateKey", keyId: "none" }).status, "unknown");
});

test("a rolled key has another secret, and its id, limits and counts stay", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { limitNanoUsd: 100 }));
  const by = (digest: string) => ({ payer: { kind: "key", digest } as const });
  admit(host, account, reserve("r1", 60, by("digest of key2")));
  host.apply(account, settle("r1", 60));
  const roll = { type: "rollKey", at: noon, keyId: "key2", label: "ik_1", nonceExpiresAt: noon + 1 } as const;
  assert.equal(host.apply(account, { ...roll, digest: "new", nonce: "roll" }).status, "rolled");
  assert.deepEqual(refusalOf(admit(host, account, reserve("r2", 10, by("digest of key2")))), ["unauthenticated"]);
  assert.deepEqual(refusalOf(admit(host, account, reserve("r3", 41, by("new")))).slice(0, 4), [
    "key",
    "settled",
    41,
    40,
  ]);
  assert.equal(host.apply(account, { ...roll, digest: "new", nonce: "roll" }).status, "rolled", "again, as before");
  assert.equal(host.apply(account, { ...roll, digest: "newer", nonce: "roll" }).status, "nonce_used");
  assert.equal(host.apply(account, { ...roll, digest: "newer", nonce: "nonce of key2" }).status, "nonce_used");
  assert.equal(host.apply(account, createKey("key2", { limitNanoUsd: 100 })).status, "nonce_used");
  host.apply(account, { type: "revokeKey", at: noon, keyId: "key2" });
  assert.equal(host.apply(account, { ...roll, digest: "newest", nonce: "roll 2" }).status, "unknown");
});

test("revoking a key again answers as before for as long as the key is there", () => {
  const host = makeExample();
  host.apply(account, createKey("key2"));
  const revoke = (keyId: string) => host.apply(account, { type: "revokeKey", at: host.clock.now, keyId }).status;
  assert.equal(revoke("key1"), "revoked");
  host.clock.now = noon + 36 * 3_600_000;
  assert.equal(revoke("key2"), "revoked");
  host.clock.now = noon + 49 * 3_600_000;
  host.apply(account, { type: "forget", at: host.clock.now, table: "key", ids: ["key1", "key2"] });
  assert.equal(host.rows(account).get("key", "key1"), undefined);
  assert.equal(revoke("key2"), "revoked");
});

const terms = (keyId: string, nonce: string, changed: Partial<Commands["setKeyTerms"]["command"]> = {}) =>
  ({
    type: "setKeyTerms",
    id: "change",
    at: noon,
    keyId,
    window: "lifetime",
    limitNanoUsd: 200,
    expiresAt: null,
    nonce,
    nonceExpiresAt: noon + 600_000,
    ...changed,
  }) as const;

test("a signed message raises, lowers, sets and removes a limit, and what was spent and is held stays counted", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { limitNanoUsd: 100, window: "day" }));
  const payer = { kind: "key", digest: "digest of key2" } as const;
  admit(host, account, reserve("r1", 60, { payer }));
  host.apply(account, settle("r1", 50));
  admit(host, account, reserve("r2", 40, { payer }));
  const set = (nonce: string, limitNanoUsd: number | null) =>
    host.apply(account, terms("key2", nonce, { limitNanoUsd, window: "day" })).status;
  const left = () => answer(host.rows(account), { type: "key", keyId: "key2", at: noon })?.budget.availableNanoUsd;
  assert.equal(set("t1", 150), "set");
  assert.equal(left(), 60);
  assert.equal(set("t2", 70), "set");
  assert.equal(left(), 0, "settled and held are above it");
  assert.equal(set("t3", null), "set");
  assert.equal(left(), null);
  assert.equal(set("t4", 91), "set");
  assert.equal(left(), 1);
  assert.equal(host.apply(account, settle("r2", 40)).status, "settled", "an open hold stays good");
  assert.equal(left(), 1);
});

test("another window counts what was spent and is held in it, to the nano-dollar", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { at: Date.UTC(2027, 4, 31, 12) }));
  const payer = { kind: "key", digest: "digest of key2" } as const;
  const spend = (id: string, at: number, chargeNanoUsd: number) => {
    host.clock.now = at;
    admit(host, account, reserve(id, 100, { payer, at }));
    host.apply(account, {
      ...settle(id, chargeNanoUsd),
      at,
      tally: { model: id, promptTokens: 0, completionTokens: 0 },
    });
  };
  spend("last month", Date.UTC(2027, 4, 31, 12), 1);
  spend("yesterday", noon - DAY_MS, 2);
  spend("today", noon, 4);
  admit(host, account, reserve("open", 8, { payer }));
  const view = (nonce: string, window: "day" | "month" | "lifetime") => {
    assert.equal(host.apply(account, terms("key2", nonce, { window })).status, "set");
    const { settledNanoUsd, heldNanoUsd } = answer(host.rows(account), { type: "key", keyId: "key2", at: noon })
      ?.budget ?? { settledNanoUsd: null, heldNanoUsd: null };
    return [settledNanoUsd, heldNanoUsd];
  };
  assert.deepEqual(view("t1", "day"), [4, 8]);
  assert.deepEqual(view("t2", "month"), [6, 8]);
  assert.deepEqual(view("t3", "lifetime"), [7, 8]);
  assert.deepEqual(view("t4", "day"), [4, 8]);
  host.apply(account, settle("open", 8));
  assert.deepEqual(view("t5", "day"), [12, 0], "the hold ends where it counts now");
  assert.deepEqual(view("t6", "lifetime"), [15, 0]);
});

test("a message changes a key's terms once; it is no sign-in, and makes no key", () => {
  const host = makeExample();
  assert.equal(host.apply(account, terms("key1", "t1")).status, "set");
  assert.equal(host.apply(account, terms("key1", "t2", { limitNanoUsd: 100 })).status, "set");
  assert.equal(host.apply(account, terms("key1", "t1")).status, "set", "again, as before");
  assert.equal(host.rows(account).get("key", "key1")?.limitNanoUsd, 100, "and nothing is changed");
  assert.equal(host.apply(account, terms("key1", "t1", { limitNanoUsd: 500 })).status, "nonce_used");
  assert.equal(host.apply(account, terms("key1", "t1", { id: "another" })).status, "nonce_used");
  assert.equal(host.apply(account, terms("key1", "nonce of key1")).status, "nonce_used");
  assert.equal(host.apply(account, createKey("key2", { nonce: "t1" })).status, "nonce_used");
  const signIn = { type: "consumeNonce", at: noon, nonce: "t1", expiresAt: noon, digest: "s" } as const;
  assert.equal(host.apply(account, signIn).status, "nonce_used");
});

test("an expiry is moved while it is ahead; a key that has expired or is revoked is not brought back", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { expiresAt: noon + 1_000 }));
  const set = (keyId: string, nonce: string, expiresAt: number | null, at: number) =>
    host.apply(account, terms(keyId, nonce, { expiresAt, at })).status;
  assert.equal(set("key2", "t1", noon + 5_000, noon + 999), "set");
  assert.equal(set("key2", "t2", noon + 2_000, noon + 1_500), "set");
  assert.equal(set("key2", "t3", null, noon + 2_000), "expired");
  assert.equal(set("key2", "t2", noon + 2_000, noon + 2_500), "set", "again, as before");
  host.apply(account, createKey("key3", { nonce: "nonce of key3", digest: "digest of key3", expiresAt: noon + 9_000 }));
  const { expiresAt: _, ...limitAlone } = terms("key3", "t6");
  assert.equal(host.apply(account, limitAlone).status, "set");
  assert.equal(host.rows(account).get("key", "key3")?.expiresAt, noon + 9_000, "it stays where it is not named");
  host.apply(account, { type: "revokeKey", at: noon, keyId: "key1" });
  assert.equal(set("key1", "t4", null, noon), "unknown");
  assert.equal(set("none", "t5", null, noon), "unknown");
});
