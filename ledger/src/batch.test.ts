import assert from "node:assert/strict";
import { test } from "node:test";
import type { Commands } from "./commands.ts";
import { chainPartition, journalPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { type Example, makeExample, noon } from "./testing/example.ts";

const chain = chainPartition(1);
const day = "2027-06-15";
const journal = journalPartition(day);
const first = { batch: 1, openedAt: noon };
const many = { maxUses: 100, maxEntries: 100, maxServes: 50 };
const range = { firstUse: "r1", lastUse: "r2" };
const built = { type: "buildBatch", root: "0xroot", uses: 2, amountNanoUsd: 42, ...first, ...range } as const;

function sign(hash: string, nonce = 7): Commands["signBatch"]["command"] {
  const terms = { nonce, maxFeePerGasWei: "1000000000", day, signedAt: noon };
  return { type: "signBatch", ...first, hash, raw: "0x02", ...terms };
}

/** With uses of two accounts, in the order of their ids. */
function makeJournal(uses: [id: string, account: string, charge: number][]): Example {
  const host = makeExample();
  for (const [id, account, chargeNanoUsd] of uses) {
    host.apply(journal, { type: "journal", id, account, chargeNanoUsd, admittedAt: noon, server: "protocol" });
  }
  return host;
}

function gather(host: Example, command: Partial<Commands["gatherUses"]["command"]> = {}): string[] | string {
  const reply = host.apply(journal, { type: "gatherUses", ...first, ...many, ...command });
  return reply.status === "gathered" ? reply.uses.map(({ id }) => id) : reply.status;
}

test("the oldest uses that wait go into a batch, and again only those", () => {
  const host = makeJournal([
    ["r2", "a", 1],
    ["r1", "a", 2],
    ["r3", "b", 3],
  ]);
  assert.deepEqual(gather(host, { maxUses: 2 }), ["r1", "r2"]);
  assert.deepEqual(gather(host), ["r1", "r2"], "the same batch has the same uses");
  assert.deepEqual(gather(host, { batch: 2, openedAt: noon + 1 }), ["r3"]);
  assert.equal(gather(host), "late", "a later batch has taken uses");
  assert.deepEqual(gather(host, { batch: 3, openedAt: noon + 2 }), []);
  assert.deepEqual(
    answer(host.rows(journal), { type: "batchUses", batch: 1, ...range }).map(({ id }) => id),
    ["r1", "r2"],
  );
});

test("a batch has no more entries and serves than it may; the other uses wait", () => {
  const serves = makeJournal([["r1", "a", 1]]);
  for (const [id, account, server] of [
    ["r2", "a", "0xa1"],
    ["r3", "b", "0xa2"],
    ["r4", "b", "protocol"],
    ["r5", "a", "0xa1"],
  ] as const) {
    const use = { id, account, chargeNanoUsd: 1, admittedAt: noon, server };
    serves.apply(journal, { type: "journal", ...use, ...(server === "protocol" ? {} : { offer: "0x0f" }) });
  }
  assert.deepEqual(gather(serves, { maxServes: 1 }), ["r1", "r2", "r4", "r5"]);
  assert.deepEqual(gather(serves, { batch: 2, openedAt: noon + 1 }), ["r3"]);

  const host = makeJournal([
    ["r1", "a", 1],
    ["r2", "b", 1],
    ["r3", "c", 1],
    ["r4", "a", 1],
  ]);
  assert.deepEqual(gather(host, { maxEntries: 2 }), ["r1", "r2", "r4"]);
  assert.deepEqual(gather(host, { batch: 2, openedAt: noon + 1 }), ["r3"]);
});

test("a use that comes after later ones were gathered goes into the next batch; what cost nothing into none", () => {
  const host = makeJournal([
    ["r5", "a", 1],
    ["r6", "a", 0],
  ]);
  assert.deepEqual(gather(host), ["r5"]);
  host.apply(journal, {
    ...{ type: "journal", id: "r3", account: "a", chargeNanoUsd: 1, admittedAt: noon, server: "protocol" },
  });
  assert.deepEqual(gather(host, { batch: 2, openedAt: noon + 1 }), ["r3"]);
});

test("returned uses wait again, but for those that the contract refuses", () => {
  const host = makeJournal([
    ["r1", "a", 1],
    ["r2", "b", 1],
  ]);
  assert.deepEqual(gather(host), ["r1", "r2"]);
  const back = { type: "returnUses", ...first, setAside: { ids: ["r1"], reason: "credit" } } as const;
  assert.equal(host.apply(journal, back).status, "returned");
  assert.equal(host.alerts.length, 1);
  assert.equal(gather(host), "late", "a request for uses that arrives after they were returned takes none");
  assert.deepEqual(gather(host, { openedAt: noon + 1 }), ["r2"]);
  assert.equal(host.apply(journal, back).status, "returned");
  assert.deepEqual(gather(host, { openedAt: noon + 1 }), ["r2"], "a repetition returns nothing of a later batch");
});

test("a batch that returns uses before its request for them has arrived gets none", () => {
  const host = makeJournal([["r1", "a", 1]]);
  host.apply(journal, { type: "returnUses", ...first, setAside: null });
  assert.equal(gather(host), "late");
  assert.deepEqual(gather(host, { openedAt: noon + 1 }), ["r1"]);
});

test("batches follow each other, one at a time, each through its states", () => {
  const host = makeExample();
  const status = (command: Parameters<Example["apply"]>[1]) =>
    (host.apply(chain, command) as { status: string }).status;
  assert.equal(status({ type: "openBatch", journal: day, batch: 2, openedAt: noon }), "conflict");
  assert.equal(status({ type: "openBatch", journal: day, ...first }), "open");
  assert.equal(status({ type: "openBatch", journal: day, ...first }), "open");
  assert.equal(status({ type: "openBatch", journal: day, batch: 2, openedAt: noon + 1 }), "conflict");
  assert.equal(status(sign("0x1")), "conflict", "before it is built");
  assert.equal(status(built), "built");
  assert.equal(status({ ...built, root: "another" }), "conflict");
  assert.equal(status(sign("0x1")), "signed");
  assert.equal(status(sign("0x2")), "signed", "a replacement");
  assert.equal(status(sign("0x3", 8)), "conflict", "under a second number");
  assert.equal(status(sign("0x1")), "signed");
  const settled = { type: "settleBatch", ...first, at: noon, settledBy: "0x2", block: 5 } as const;
  assert.equal(status(settled), "settled");
  assert.equal(status({ ...settled, settledBy: "0x1" }), "conflict");
  assert.equal(status({ type: "rejectBatch", ...first, transactions: 2 }), "conflict");
  assert.equal(status({ type: "dropBatch", ...first }), "conflict");
  assert.equal(status({ type: "openBatch", journal: day, batch: 2, openedAt: noon + 1 }), "open");
  const [last, settledOne] = answer(host.rows(chain), { type: "batches", limit: 5 });
  assert.deepEqual([last?.batch, last?.state], [2, "open"]);
  assert.deepEqual(
    [settledOne?.state, settledOne?.settledBy, settledOne?.signed.map(({ hash }) => hash)],
    ["settled", "0x2", ["0x2", "0x1"]],
  );
  assert.deepEqual(
    answer(host.rows(chain), { type: "batches", before: 2, limit: 5 }).map(({ batch }) => batch),
    [1],
  );
  const [, brief] = answer(host.rows(chain), { type: "batches", limit: 5, withoutRaw: true });
  assert.deepEqual(brief, { ...settledOne, signed: settledOne?.signed.map((one) => ({ ...one, raw: "" })) });
  assert.ok(settledOne?.signed.every(({ raw }) => raw !== ""));
});

test("a rejected batch is signed and settled no more, and its number is free once it is dropped", () => {
  const host = makeExample();
  const status = (command: Parameters<Example["apply"]>[1]) =>
    (host.apply(chain, command) as { status: string }).status;
  status({ type: "openBatch", journal: day, ...first });
  assert.equal(status({ type: "dropBatch", ...first }), "conflict", "before its uses are returned");
  status(built);
  status(sign("0x1"));
  assert.equal(status({ type: "rejectBatch", ...first, transactions: 0 }), "conflict", "by one that came late");
  assert.equal(status({ type: "rejectBatch", ...first, transactions: 1 }), "rejected");
  assert.equal(status(sign("0x2")), "conflict");
  assert.equal(status(built), "conflict");
  assert.equal(status({ type: "settleBatch", ...first, at: noon, settledBy: "0x1", block: 5 }), "conflict");
  assert.equal(status({ type: "dropBatch", ...first }), "dropped");
  assert.deepEqual(host.all("transaction"), []);
  assert.equal(status({ type: "openBatch", journal: day, batch: 1, openedAt: noon + 1 }), "open");
  assert.equal(status({ type: "dropBatch", ...first }), "dropped");
  assert.equal(answer(host.rows(chain), { type: "batch", batch: 1 })?.state, "open", "the second of its number stays");
});
