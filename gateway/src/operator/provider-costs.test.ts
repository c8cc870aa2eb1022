import assert from "node:assert/strict";
import { test } from "node:test";
import { makeProviderCosts } from "./provider-costs.ts";

const CENT = 10_000_000;

test("the operator is told of each cent above one per cent of the list price, and of none below", () => {
  const alerts: unknown[] = [];
  const costs = makeProviderCosts({ log: (level, event, fields) => alerts.push([level, event, fields]) });
  // A cent of 1 % exactly, and a third less than listed.
  costs.note("even", 101 * CENT, 100 * CENT);
  costs.note("cheap", 2 * CENT, 3 * CENT);
  // Half a cent twice.
  costs.note("dear", CENT, CENT / 2);
  assert.deepEqual(alerts, []);
  costs.note("dear", CENT, CENT / 2);
  const alert = ["alert", "provider_cost", { model: "dear", driftNanoUsd: CENT, listedNanoUsd: CENT }];
  assert.deepEqual(alerts, [alert]);
  costs.note("dear", CENT, CENT / 2);
  assert.equal(alerts.length, 1);
  costs.note("dear", CENT, CENT / 2);
  assert.deepEqual(alerts, [alert, alert]);
  // A discount of before does not hide what is dear now.
  costs.note("cheap", 2 * CENT, CENT);
  assert.equal(alerts.length, 3);
  const { reportedNanoUsd, listedNanoUsd } = costs.byModel.get("dear") ?? assert.fail("no costs");
  assert.deepEqual([reportedNanoUsd, listedNanoUsd], [4 * CENT, 2 * CENT]);
});
