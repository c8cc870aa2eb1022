import assert from "node:assert/strict";
import { test } from "node:test";
import type { Commands } from "./commands.ts";
import { ceilingShard, journalPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { settledUse } from "./settled-use.ts";
import { account, makeExample, noon, reserve, reserveCeiling, settle } from "./testing/example.ts";

const partition = journalPartition("2027-06-15");
type Journal = Commands["journal"]["command"];
const use = (id: string, chargeNanoUsd: number, account = "0x1"): Journal => {
  return { type: "journal", id, account, chargeNanoUsd, admittedAt: noon, server: "protocol" };
};

test("a use is written once, and a different one under its id not at all", () => {
  const host = makeExample();
  const total = () => answer(host.rows(partition), { type: "journal" }).settledNanoUsd;
  assert.equal(host.apply(partition, use("r1", 40)).status, "journalled");
  assert.equal(host.apply(partition, use("r1", 40)).status, "journalled");
  assert.equal(host.apply(partition, use("r2", 2)).status, "journalled");
  assert.equal(total(), 42);
  assert.equal(host.alerts.length, 0);
  assert.equal(host.apply(partition, use("r1", 41)).status, "conflict");
  assert.equal(host.apply(partition, use("r1", 40, "0x2")).status, "conflict");
  assert.equal(host.alerts.length, 2);
  assert.equal(total(), 42);
});

test("a use says who served it, and its leaf has the agent and the offer", () => {
  const host = makeExample();
  const agent = { token: `0x${"a".repeat(40)}`, offerHash: `0x${"5".repeat(64)}` } as const;
  host.apply(partition, { ...use("r1", 40), server: agent.token, offer: agent.offerHash });
  host.apply(partition, use("r2", 2));
  const [byAgent, byProtocol] = host.rows(partition).list("use", { limit: 9 });
  assert.ok(byAgent !== undefined && byProtocol !== undefined);
  assert.deepEqual(settledUse(1, byAgent).agent, agent);
  assert.equal(settledUse(1, byProtocol).agent, undefined);
  assert.equal(host.apply(partition, { ...use("r1", 40), server: agent.token }).status, "conflict");
});

test("a day's own journal learns of each shard's with its first use, and keeps that through batches", () => {
  const host = makeExample();
  const day = "2027-06-15";
  for (const id of ["r1", "r2"])
    for (const shard of [1, 2]) host.apply(journalPartition(`${day}:${shard}`), use(id, 1));
  host.apply(partition, use("r3", 1));
  assert.equal(host.outbox().length, 2);
  host.deliverAll();
  const shards = () => answer(host.rows(partition), { type: "shards" });
  assert.deepEqual(shards(), [`${day}:1`, `${day}:2`]);
  const name = { batch: 1, openedAt: noon };
  host.apply(partition, { type: "gatherUses", ...name, maxUses: 9, maxEntries: 9, maxServes: 9 });
  assert.equal(shards().length, 2);
  host.apply(partition, { type: "returnUses", ...name, setAside: null });
  host.apply(partition, { type: "addShard", journal: `${day}:2` });
  assert.equal(shards().length, 2);
  assert.deepEqual(answer(host.rows(journalPartition(`${day}:1`)), { type: "shards" }), []);
});

test("a use goes into the journal of the shard that admitted its request", () => {
  const host = makeExample();
  const shard = ceilingShard(3);
  host.apply(account, reserve("r1", 10, { followers: [shard] }));
  host.apply(shard, reserveCeiling("r1", 10));
  host.apply(account, settle("r1", 4));
  host.deliverAll();
  assert.equal(host.rows(journalPartition("2027-06-15:3")).get("use", "r1")?.chargeNanoUsd, 4);
});
