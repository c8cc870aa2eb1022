import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type HostileKindName, makeHostileKinds } from "./testing/neighbours/hostile-kinds.ts";
import { type Neighbourhood, startNeighbourhood } from "./testing/neighbours/neighbourhood.ts";

/** A paying customer is served, whatever hostile clients do beside it. `neighbours.budget.ts` measures how fast. */
const [CONNECTIONS, FOR_MS] = [60, 2_000];

const noKeys = { paying: "", revoked: "", unpaid: "", others: [""] };
const kinds = Object.keys(makeHostileKinds(noKeys, "http://a")) as HostileKindName[];

describe("a paying customer is served beside hostile connections:", () => {
  let neighbourhood: Neighbourhood;
  before(async () => {
    neighbourhood = await startNeighbourhood({ receipts: 320 });
  });
  after(() => neighbourhood?.stop());

  for (const kind of kinds) {
    test(`${CONNECTIONS} of ${kind}`, async () => {
      const { customer, hostile } = await neighbourhood.measure(kind, { connections: CONNECTIONS, forMs: FOR_MS });
      assert.deepEqual(customer.failed, []);
      assert.ok(Object.keys(hostile).length > 0, "nobody was hostile");
    });
  }
});
