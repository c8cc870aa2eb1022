import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type HostileKindName, makeHostileKinds } from "./testing/neighbours/hostile-kinds.ts";
import { type Neighbourhood, startNeighbourhood } from "./testing/neighbours/neighbourhood.ts";

/** A paying customer is served, whatever hostile clients do beside it. `neighbours.budget.ts` measures how fast. */
const isDeep = process.env.DEEP === "1";
/** Outside the deep run each so manyeth kind is tried. */
const KINDS = isDeep ? 1 : 10;
const { connections, forMs } = isDeep ? { connections: 60, forMs: 2_000 } : { connections: 12, forMs: 500 };

const noKeys = { paying: "", revoked: "", unpaid: "", others: [""] };
const names = Object.keys(makeHostileKinds(noKeys, "http://a")) as HostileKindName[];
const kinds = names.filter((_, index) => index % KINDS === 0);

describe("a paying customer is served beside hostile connections:", () => {
  let neighbourhood: Neighbourhood;
  before(async () => {
    neighbourhood = await startNeighbourhood({ receipts: 320 });
  });
  after(() => neighbourhood?.stop());

  for (const kind of kinds) {
    test(`${connections} of ${kind}`, async () => {
      const { customer, hostile } = await neighbourhood.measure(kind, { connections, forMs });
      assert.deepEqual(customer.failed, []);
      assert.ok(Object.keys(hostile).length > 0, "nobody was hostile");
    });
  }
});
