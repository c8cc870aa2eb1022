import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type HostileKindName, makeHostileKinds } from "./testing/neighbours/hostile-kinds.ts";
import { type Neighbourhood, startNeighbourhood } from "./testing/neighbours/neighbourhood.ts";

/**
 * One customer cannot harm another: what hostile clients do is felt by a paying customer within these bounds alone. The
 * whole of it takes minutes and a machine of its own. The smaller version runs beside other tests, which decide how long
 * anything takes there: it looks at memory and at processor time, which are nobody else's.
 */
const DEEP = process.env.DEEP === "1";
const CUSTOMER_MS = 250;
const MEMORY_MIB = 1024;
/** Of one turn of the event loop, in which there may be steps of several requests. */
const TURN_MS = 100;
const { connections, forMs, receipts } = DEEP
  ? { connections: 60, forMs: 5_000, receipts: 2_000 }
  : { connections: 12, forMs: 500, receipts: 320 };

const noKeys = { paying: "", revoked: "", unpaid: "", others: [""] };
const names = Object.keys(makeHostileKinds(noKeys, "http://a")) as HostileKindName[];
/** What takes a provider and its clients seconds by itself is left to the whole version. */
const kinds = names.filter((name) => DEEP || !name.startsWith("60 MB"));

describe("a paying customer is served, no turn of the event loop is long, and memory stays below 1 GiB, beside", () => {
  let neighbourhood: Neighbourhood;
  before(async () => {
    neighbourhood = await startNeighbourhood({ receipts });
  });
  after(() => neighbourhood?.stop());

  for (const kind of [null, ...kinds]) {
    test(`${connections} connections: ${kind ?? "nobody"}`, async () => {
      const { customer, longestTurnMs, peakRssMib, hostile } = await neighbourhood.measure(kind, {
        connections,
        forMs,
      });
      assert.deepEqual(customer.failed, [], "the customer was not served");
      if (DEEP) assert.ok(customer.p99Ms < CUSTOMER_MS, `the customer waited ${Math.round(customer.p99Ms)} ms`);
      assert.ok(longestTurnMs < TURN_MS, `one turn of the event loop took ${Math.round(longestTurnMs)} ms`);
      assert.ok(peakRssMib < MEMORY_MIB, `${Math.round(peakRssMib)} MiB`);
      assert.ok(kind === null || Object.keys(hostile).length > 0, "nobody was hostile");
    });
  }
});
