import { equal } from "node:assert/strict";
import { test } from "node:test";
import { settlementAt } from "./settlement.ts";

test("a charge is final up to the debits, has its statement's state up to the statement's end, and is pending after it", () => {
  const open = { before_nano_usd: 10, after_nano_usd: 20, root: null, status: "posted" } as const;
  const line = { debited_nano_usd: 10, open };
  equal(settlementAt(line, null), null);
  equal(settlementAt(line, 10), "final");
  equal(settlementAt(line, 11), "posted");
  equal(settlementAt(line, 20), "posted");
  equal(settlementAt(line, 21), "pending");
  equal(settlementAt({ ...line, open: { ...open, status: "pending" } }, 11), "pending");
  equal(settlementAt({ ...line, open: null }, 11), "pending");
});
