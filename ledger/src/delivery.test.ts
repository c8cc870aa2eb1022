import assert from "node:assert/strict";
import { test } from "node:test";
import { OUTCOME_RETENTION_MS } from "./limits.ts";
import { ceilingPartition as ceiling } from "./partition.ts";
import { account, makeExample, noon, reserve, reserveCeiling, settle } from "./testing/example.ts";

const over = noon + OUTCOME_RETENTION_MS + 1;

test("a delivery that is made again after its hold was forgotten changes nothing and alarms nobody", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 600));
  host.apply(ceiling, reserveCeiling("r1", 600));
  host.apply(account, settle("r1", 250));
  const deliveries = host.outbox();
  assert.equal(deliveries.length, 2);
  for (const delivery of deliveries) host.deliver(delivery, { acknowledge: false });
  host.clock.now = over;
  const forget = { type: "forget", at: over, table: "hold", ids: ["r1"] } as const;
  assert.deepEqual(host.apply(ceiling, forget), { forgotten: 1 });
  const before = JSON.stringify(host.all("counter"));
  host.deliverAll();
  assert.equal(JSON.stringify(host.all("counter")), before);
  assert.deepEqual([host.outbox(), host.alerts], [[], []]);
});

test("of a hold that it cannot have forgotten, the ceiling alarms", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 600));
  host.apply(account, settle("r1", 250));
  for (const [at, alerts] of [
    [noon, 1],
    [over - 60_001, 2],
    [over + 60_001, 2],
  ] as const) {
    host.clock.now = at;
    for (const delivery of host.outbox()) host.deliver(delivery, { acknowledge: false });
    assert.equal(host.alerts.length, alerts);
  }
});
