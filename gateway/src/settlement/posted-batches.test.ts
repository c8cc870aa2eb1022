import assert from "node:assert/strict";
import { test } from "node:test";
import type { BatchView } from "@inference/ledger/batch";
import type { LedgerClient } from "@inference/ledger/client";
import { accountPartition, ceilingPartition, ceilingShard } from "@inference/ledger/partition";
import type { Query } from "@inference/ledger/reads";
import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { useTree } from "@inference/protocol/use-tree";
import { makePostedBatches } from "./posted-batches.ts";

const account: Address = `0x${"1".repeat(40)}`;
const payer = accountPartition(account);
const settlement = { chainId: 1, address: account };
const [first, second] = [1, 2].map((n): UseRow => {
  const id = `req_${String(n).padStart(26, "0")}`;
  return { id, account, chargeNanoUsd: n, admittedAt: 0, server: "protocol", batch: 1, offer: null, setAside: null };
}) as [UseRow, UseRow];
const builtOf = (uses: UseRow[]): BatchView => {
  const { root } = useTree(
    settlement,
    uses.map((use) => settledUse(1, use)),
  );
  const signed = { batch: 1, state: "signed", root, firstUse: first.id, lastUse: second.id, signed: [] };
  return signed as unknown as BatchView;
};
const batch = builtOf([first, second]);

function open(uses: readonly UseRow[], batch = builtOf([first, second])) {
  const answers: Partial<Record<Query["type"], unknown>> = { use: first, batch, batchUses: uses };
  const read = async (_: unknown, { type }: Query) => answers[type];
  return makePostedBatches(settlement, { read } as unknown as LedgerClient, () => ceilingPartition);
}

test("a proof is computed once, because it costs processor time and anybody with a credential asks for it", async () => {
  const batches = open([first, second]);
  const [once] = await batches.provenUses(batch, account);
  const [again] = await batches.provenUses(batch, account);
  assert.ok(once !== undefined && once.proof.length === 1);
  assert.equal(again, once);
});

test("a batch whose uses are returned or taken by another one while it is read proves nothing", async () => {
  for (const uses of [[], [second]]) {
    const batches = open(uses);
    assert.equal((await batches.ofReceipt(payer, { id: first.id, admittedAt: 0 })).status, "pending");
    assert.deepEqual(await batches.provenUses(batch, account), []);
  }
  const rebuilt = open([second], builtOf([second]));
  assert.equal((await rebuilt.ofReceipt(payer, { id: first.id, admittedAt: 0 })).status, "pending");
});

test("a use is looked for in its account's journal, and in those of all shards if it is not there", async () => {
  const asked: string[] = [];
  const read = async (partition: string, { type }: Query) => {
    if (type === "shards") return ["1970-01-01:1", "1970-01-01:2", "1970-01-01:3"];
    if (type === "use") asked.push(partition);
    return type === "use" && partition === "journal:1970-01-01:3" ? { ...first, batch: null } : null;
  };
  const batches = makePostedBatches(settlement, { read } as unknown as LedgerClient, () => ceilingShard(2));
  assert.equal((await batches.ofReceipt(payer, { id: first.id, admittedAt: 0 })).status, "pending");
  assert.deepEqual(asked, [
    "journal:1970-01-01:2",
    "journal:1970-01-01",
    "journal:1970-01-01:1",
    "journal:1970-01-01:3",
  ]);
});
