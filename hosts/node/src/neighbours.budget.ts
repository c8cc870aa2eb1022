import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type HostileKindName, makeHostileKinds } from "./testing/neighbours/hostile-kinds.ts";
import { type Neighbourhood, startNeighbourhood } from "./testing/neighbours/neighbourhood.ts";

/**
 * One customer cannot harm another: what hostile clients do is felt by a paying customer within these bounds alone. It
 * takes minutes and a machine of its own. `neighbours.deep.test.ts` shows that the customer is served.
 */
const CUSTOMER_MS = 250;
const MEMORY_MIB = 1024;
/** Steps of several requests may share a turn of the event loop. */
const TURN_MS = 100;
const CONNECTIONS = 60;

const noKeys = { paying: "", revoked: "", unpaid: "", others: [""] };
const kinds = Object.keys(makeHostileKinds(noKeys, "http://a")) as HostileKindName[];

describe("a paying customer is served, no turn of the event loop is long, and memory stays below 1 GiB, beside", () => {
  let neighbourhood: Neighbourhood;
  before(async () => {
    neighbourhood = await startNeighbourhood({ receipts: 2_000 });
  });
  after(() => neighbourhood?.stop());

  for (const kind of [null, ...kinds]) {
    test(`${CONNECTIONS} connections: ${kind ?? "nobody"}`, async () => {
      const { customer, longestTurnMs, peakRssMib } = await neighbourhood.measure(kind, {
        connections: CONNECTIONS,
        forMs: 5_000,
      });
      assert.deepEqual(customer.failed, [], "the customer was not served");
      assert.ok(customer.p99Ms < CUSTOMER_MS, `the customer waited ${Math.round(customer.p99Ms)} ms`);
      assert.ok(longestTurnMs < TURN_MS, `one turn of the event loop took ${Math.round(longestTurnMs)} ms`);
      assert.ok(peakRssMib < MEMORY_MIB, `${Math.round(peakRssMib)} MiB`);
    });
  }
});
