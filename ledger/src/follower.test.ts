import assert from "node:assert/strict";
import { test } from "node:test";
import { askOwner } from "./follower.ts";
import { ceilingPartition as ceiling } from "./partition.ts";
import { answer } from "./reads.ts";
import { account, makeExample, noon, release, reserve, reserveCeiling, settle } from "./testing/example.ts";

const held = (host: ReturnType<typeof makeExample>) =>
  answer(host.rows(ceiling), { type: "ceiling", at: noon }).heldNanoUsd;
const ask = (host: ReturnType<typeof makeExample>) => {
  const saga = host.begin(askOwner(ceiling, { id: "r1", owner: account }, noon));
  while (saga.step());
  return saga.result;
};

test("a follower goes on holding while its owner does", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10));
  host.apply(ceiling, reserveCeiling("r1", 10));
  assert.equal(ask(host), "open");
  host.apply(account, { type: "orphan", id: "r1", at: noon, graceMs: 1 });
  assert.equal(ask(host), "open");
  assert.equal(held(host), 10);
});

test("a follower that asks follows, even before the delivery reaches it, and counts once", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10));
  host.apply(ceiling, reserveCeiling("r1", 10));
  host.apply(account, settle("r1", 4));
  assert.equal(ask(host), "settled");
  host.deliverAll();
  assert.equal(held(host), 0);
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: noon }).settledNanoUsd, 4);
  assert.deepEqual(host.alerts, []);
});

test("an owner that settled at zero is not one that released", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10));
  host.apply(ceiling, reserveCeiling("r1", 10));
  host.apply(account, settle("r1", 0));
  assert.equal(ask(host), "settled");
  assert.equal(host.rows(ceiling).get("hold", "r1")?.state, "settled");
});

test("a follower whose owner released, refused or never knew lets go", () => {
  const owners = {
    released: (host: ReturnType<typeof makeExample>) => {
      host.apply(account, reserve("r1", 10));
      host.apply(account, release("r1"));
    },
    refused: (host: ReturnType<typeof makeExample>) => host.apply(account, reserve("r1", 9_999)),
    unknown: () => undefined,
  };
  for (const [name, prepare] of Object.entries(owners)) {
    const host = makeExample();
    prepare(host);
    host.apply(ceiling, reserveCeiling("r1", 10));
    assert.equal(ask(host), "released", name);
    assert.equal(held(host), 0, name);
    assert.notEqual(host.apply(account, reserve("r1", 10, { leaseMs: 1 })).status, "reserved", name);
  }
});
