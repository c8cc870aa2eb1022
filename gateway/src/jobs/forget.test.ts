import assert from "node:assert/strict";
import { test } from "node:test";
import { chainPartition } from "@inference/ledger/partition";
import { utcDay } from "@inference/protocol/window";
import { NOW, openFixture, PRIMARY } from "../../test/identity-fixture.ts";
import { forgetAll } from "./forget.ts";

const chain = chainPartition(PRIMARY);
const account = `0x${"1".repeat(40)}` as const;

test("the record of a debit is kept as long as the receipts whose place on chain it proves", async () => {
  const receiptMs = 90 * 86_400_000;
  const { gateway, ledger, time } = openFixture();
  gateway.config.operator.receiptMs = receiptMs;
  const debit = { account, beforeNanoUsd: 0, amountNanoUsd: 5, root: "r", parts: "[]", proof: "" };
  const sums = { amountNanoUsd: 5, paidAfterNanoUsd: 5, totalDebitedNanoUsd: "5" };
  const chunk = { root: "c", day: utcDay(NOW), ...sums, records: [debit], block: 1, transaction: "0x" };
  ledger.apply(chain, { type: "reread", at: NOW, readyFrom: 0 });
  ledger.apply(chain, { type: "advance", at: NOW, block: 1, blockHash: "0x", activations: [], chunks: [chunk] });
  const forget = (at: number) => {
    time.now = at;
    return forgetAll(gateway, new AbortController().signal);
  };
  const dayBegan = Date.parse(utcDay(NOW));
  assert.equal(await forget(dayBegan + receiptMs), 0);
  assert.equal(await forget(dayBegan + receiptMs + 1), 1);
});
