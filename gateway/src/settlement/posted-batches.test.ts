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
import type { SlicedWork } from "../limits/sliced-work.ts";
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
  return makePostedBatches(settlement, parts(read), () => ceilingPartition);
}

/** Sliced work that says how many pieces each piece of work had. */
function parts(read: (partition: string, query: Query) => Promise<unknown>, pieces: number[] = []) {
  const slicedWork: SlicedWork = {
    async run(_, work) {
      const place = pieces.push(0) - 1;
      for (;;) {
        const { done, value } = work.next();
        if (done === true) return value;
        pieces[place] = (pieces[place] ?? 0) + 1;
        await Promise.resolve();
      }
    },
    turn: async () => undefined,
  };
  return { ledger: { read } as unknown as LedgerClient, slicedWork };
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
  const batches = makePostedBatches(settlement, parts(read), () => ceilingShard(2));
  assert.equal((await batches.ofReceipt(payer, { id: first.id, admittedAt: 0 })).status, "pending");
  assert.deepEqual(asked, [
    "journal:1970-01-01:2",
    "journal:1970-01-01",
    "journal:1970-01-01:1",
    "journal:1970-01-01:3",
  ]);
});

/** 40 batches of 50 uses each, the first of which is the account's: more than the trees that are kept. */
function openMany() {
  const stranger: Address = `0x${"2".repeat(40)}`;
  const uses = Array.from({ length: 50 }, (_, n): UseRow => {
    const id = `req_${String(n).padStart(26, "0")}`;
    return { ...first, id, account: n === 0 ? account : stranger };
  });
  const batches = Array.from({ length: 40 }, (_, n): BatchView & { uses: UseRow[] } => {
    const own = uses.map((use) => ({ ...use, batch: n + 1 }));
    const { root } = useTree(
      settlement,
      own.map((use) => settledUse(n + 1, use)),
    );
    return { ...batch, batch: n + 1, root, uses: own } as never;
  });
  const pieces: number[] = [];
  const read = async (_: string, query: Query) =>
    query.type === "batchUses" ? batches.find((one) => one.batch === query.batch)?.uses : null;
  const posted = makePostedBatches(settlement, parts(read, pieces), () => ceilingPartition);
  return { posted, batches, pieces };
}

test("for an account without a use in the batch no tree is built", async () => {
  const { posted, batches, pieces } = openMany();
  for (const one of batches) assert.deepEqual(await posted.provenUses(one, `0x${"3".repeat(40)}`), []);
  assert.deepEqual(pieces, []);
});

test("requests for one batch at once build one tree, in pieces of a few hashes", async () => {
  const { posted, batches, pieces } = openMany();
  const [one = assert.fail()] = batches;
  const all = await Promise.all(Array.from({ length: 4 }, () => posted.provenUses(one, account)));
  for (const uses of all) assert.equal(uses.length, 1);
  const [tree = 0, ...proofs] = pieces;
  assert.ok(tree >= 100 / 8 - 2, `99 hashes in ${tree} pieces`);
  assert.deepEqual(proofs, [1, 1, 1, 1]);
});

test("an account has few batches read at once whose tree is not kept, and others have theirs", async () => {
  const { posted, batches } = openMany();
  const asked = batches.map((one) => posted.provenUses(one, account));
  const stranger = posted.provenUses(batches.at(-1) ?? assert.fail(), `0x${"2".repeat(40)}`);
  const answers = await Promise.allSettled(asked);
  assert.equal((await stranger).length, 49);
  const refused = answers.filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 36);
  for (const one of refused) assert.match(String((one as PromiseRejectedResult).reason), /readings of batches/);
});
