import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition } from "./partition.ts";
import {
  account,
  follow,
  identity,
  makeExample,
  noon,
  release,
  reserve,
  reserveCeiling,
  settle,
} from "./testing/example.ts";

const hours = 3_600_000;
const over = noon + 48 * hours + 1;

test("an outcome is kept for 48 h, and an unresolved hold for as long as it takes", () => {
  const host = makeExample();
  for (const id of ["settled", "open", "orphaned"]) host.apply(account, reserve(id, 10));
  host.apply(account, reserve("refused", 9_999));
  host.apply(account, { type: "inquire", id: "tombstone", at: noon });
  host.apply(account, settle("settled", 5));
  host.apply(account, { type: "orphan", id: "orphaned", at: noon, graceMs: 1 });
  host.deliverAll();
  const ids = ["settled", "open", "orphaned", "refused", "tombstone", "none"];
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(account, { type: "forget", at, table: "hold", ids }).forgotten;
  };
  assert.equal(forget(over - 1), 0);
  assert.equal(forget(over), 3);
  assert.deepEqual(
    host
      .rows(account)
      .list("hold", { limit: 9 })
      .map(({ id }) => id),
    ["open", "orphaned"],
  );
  assert.equal(
    host.apply(account, reserve("settled", 10)).status,
    "clock_skew",
    "what is forgotten is too old to come again",
  );
  assert.equal(host.apply(account, settle("settled", 5)).status, "unknown");
});

test("a hold that a follower has yet to hear of is kept", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10));
  host.apply(account, release("r1"));
  host.clock.now = over;
  const forget = () => host.apply(account, { type: "forget", at: over, table: "hold", ids: ["r1"] }).forgotten;
  assert.equal(forget(), 0);
  host.deliverAll();
  assert.equal(forget(), 1);
});

test("a follower forgets by the same rule", () => {
  const host = makeExample();
  host.apply(ceilingPartition, reserveCeiling("r1", 10));
  host.apply(ceilingPartition, reserveCeiling("r2", 10));
  host.apply(ceilingPartition, follow("r1", 10));
  host.clock.now = over;
  assert.equal(
    host.apply(ceilingPartition, { type: "forget", at: over, table: "hold", ids: ["r1", "r2"] }).forgotten,
    1,
  );
});

test("a clock that jumped forgets nothing", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 9_999));
  assert.equal(host.apply(account, { type: "forget", at: over, table: "hold", ids: ["r1"] }).forgotten, 0);
});

test("nonces and sessions are kept until nothing could use them", () => {
  const host = makeExample();
  host.apply(identity, { type: "consumeNonce", at: noon, nonce: "n1", expiresAt: noon });
  const forget = (table: "nonce" | "session", id: string, at: number) => {
    host.clock.now = at;
    return host.apply(identity, { type: "forget", at, table, ids: [id] }).forgotten;
  };
  assert.equal(forget("nonce", "n1", over - 1), 0);
  assert.equal(forget("nonce", "n1", over), 1);
  assert.equal(forget("session", "session1", over + 24 * hours - 1), 0);
  assert.equal(forget("session", "session1", over + 24 * hours), 1);
});
