import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import type { Activation, Commands, SettledChunk } from "../messages/commands.ts";
import { answer } from "../messages/reads.ts";
import { account, chain, type Example, makeExample, noon } from "../testing/example.ts";

type Advance = Commands["advance"]["command"];
const address = account.slice("account:".length);
const other = `0x${"2".repeat(40)}`;

const balance = (host: Example) => answer(host.rows(account), { type: "balance", at: noon }).limitNanoUsd;
const cursor = (host: Example) => answer(host.rows(chain), { type: "cursor" });
const hearing = (host: Example, of = address) => {
  const reply = host.apply(chain, { type: "inquire", account: of });
  return reply.status === "answered" ? reply.hearing : null;
};

function makeReader(): Example {
  const host = makeExample({ balance: 0 });
  host.apply(chain, { type: "reread", at: noon, readyFrom: 0 });
  return host;
}

/** An activation of one token unit, which is 1,000 nano-dollars, after as many as its id says. */
function activation(id: number, more: Partial<Activation> = {}): Activation {
  const totals = { amountToken: "1", totalActivated: `${id}`, accountActivatedNanoUsd: id * 1_000 };
  return { id, account: address, ...totals, block: 10, transaction: "0xaa", ...more };
}

function advance(block: number, events: Partial<Pick<Advance, "activations" | "chunks">> = {}, hash = `hash ${block}`) {
  return { type: "advance", at: noon, block, blockHash: hash, activations: [], chunks: [], ...events } as const;
}

function chunk(
  root: string,
  records: [before: number, amount: number][],
  sums: Partial<SettledChunk> = {},
): SettledChunk {
  const amountNanoUsd = records.reduce((sum, [, amount]) => sum + amount, 0);
  const [[start = 0] = []] = records;
  const paidAfterNanoUsd = start + amountNanoUsd;
  const totals = { amountNanoUsd, paidAfterNanoUsd, totalDebitedNanoUsd: `${paidAfterNanoUsd}` };
  return {
    ...{ root, day: "2027-06-15", ...totals, block: 11, transaction: "0xbb" },
    records: records.map(([beforeNanoUsd, amount]) => {
      return { account: address, beforeNanoUsd, amountNanoUsd: amount, root: `of ${root}`, parts: "[]", proof: "" };
    }),
    ...sums,
  };
}

test("activations are told to their accounts as totals, so that a delivery may come late, twice or out of order", () => {
  const host = makeReader();
  assert.equal(host.apply(chain, advance(10, { activations: [activation(1)] })).status, "advanced");
  const early = host.outbox();
  host.apply(chain, advance(11, { activations: [activation(2), activation(3)] }));
  const all = host.outbox();
  for (const delivery of [...all.slice(early.length), ...early, ...all]) host.deliver(delivery, { acknowledge: false });
  assert.equal(balance(host), 3_000);
  host.deliverAll();
  assert.equal(balance(host), 3_000);
});

test("an activation that is not the next one, or whose totals do not add up, moves nothing", () => {
  const wrong: [string, Partial<Activation>][] = [
    ["a gap", { id: 3, totalActivated: "3" }],
    ["again", { id: 1, totalActivated: "1" }],
    ["a gap with the right sums", { id: 3 }],
    ["another sum of all", { totalActivated: "3" }],
    ["another sum of the account", { accountActivatedNanoUsd: 3_000 }],
  ];
  for (const [name, more] of wrong) {
    const host = makeReader();
    host.apply(chain, advance(10, { activations: [activation(1)] }));
    host.deliverAll();
    const before = cursor(host);
    const reply = host.apply(chain, advance(11, { activations: [activation(2, more)] }));
    assert.equal(reply.status, "gap", name);
    assert.deepEqual([cursor(host), host.outbox()], [before, []], name);
  }
});

test("a chunk is taken if each record begins where its account was debited and all sums are the contract's", () => {
  const host = makeReader();
  host.apply(chain, advance(10, { activations: [activation(1)] }));
  const first = chunk("c1", [[0, 400]]);
  assert.equal(host.apply(chain, advance(11, { chunks: [first] })).status, "advanced");
  const wrong: [string, SettledChunk][] = [
    ["a record from below", chunk("c2", [[399, 10]], { paidAfterNanoUsd: 410, totalDebitedNanoUsd: "410" })],
    ["a record from above", chunk("c2", [[401, 10]], { paidAfterNanoUsd: 410, totalDebitedNanoUsd: "410" })],
    ["another amount", chunk("c2", [[400, 10]], { amountNanoUsd: 11 })],
    ["another sum of the day", chunk("c2", [[400, 10]], { paidAfterNanoUsd: 411 })],
    ["another sum of all", chunk("c2", [[400, 10]], { totalDebitedNanoUsd: "411" })],
    ["a day that begins with what another had", chunk("c2", [[400, 10]], { day: "2027-06-16" })],
  ];
  for (const [name, bad] of wrong) {
    const before = cursor(host);
    assert.equal(host.apply(chain, advance(12, { chunks: [bad] })).status, "gap", name);
    assert.deepEqual(cursor(host), before, name);
  }
  const next = { day: "2027-06-16", paidAfterNanoUsd: 30 };
  const second = chunk(
    "c2",
    [
      [400, 10],
      [410, 20],
    ],
    next,
  );
  assert.equal(host.apply(chain, advance(12, { chunks: [second] })).status, "advanced");
  assert.deepEqual([hearing(host)?.debitedNanoUsd, hearing(host)?.lastRoot], [430, "of c2"]);
  assert.equal(cursor(host)?.totalDebitedNanoUsd, "430");
  const records = (afterNanoUsd: number, limit = 9) =>
    answer(host.rows(chain), { type: "records", account: address, afterNanoUsd, limit }).map((one) => [
      one.beforeNanoUsd,
      one.chunk.amountNanoUsd,
    ]);
  const [one, two, three] = [
    [0, 400],
    [400, 30],
    [410, 30],
  ];
  assert.deepEqual(
    [records(0), records(399)],
    [
      [one, two, three],
      [one, two, three],
    ],
  );
  assert.deepEqual(
    [records(400), records(405)],
    [
      [two, three],
      [two, three],
    ],
  );
  assert.deepEqual([records(430), records(0, 2)], [[], [one, two]]);
  assert.deepEqual(answer(host.rows(chain), { type: "records", account: other, afterNanoUsd: 0, limit: 9 }), []);
});

test("the same blocks again change nothing, and an older or another block is a gap", () => {
  const host = makeReader();
  const events = { activations: [activation(1)], chunks: [chunk("c1", [[0, 400]])] };
  host.apply(chain, advance(10, events));
  const before = JSON.stringify(host.stored());
  assert.equal(host.apply(chain, advance(10, events)).status, "advanced");
  assert.equal(JSON.stringify(host.stored()), before);
  assert.equal(host.apply(chain, advance(9)).status, "gap");
  assert.equal(host.apply(chain, advance(10, {}, "another")).status, "gap");
  assert.equal(host.apply(chain, advance(11)).status, "advanced");
  assert.equal(cursor(host)?.block, 11);
});

test("nothing is read before a reading has begun", () => {
  const host = makeExample();
  assert.equal(host.apply(chain, advance(1)).status, "gap");
  assert.equal(host.apply(chain, { type: "waitFor", readyFrom: 5 }).status, "unread");
});

test("accounts are answered once the chain is read as far as it was final at the restore", () => {
  const host = makeExample();
  host.apply(chain, { type: "reread", at: noon, readyFrom: 20 });
  host.apply(chain, advance(19, { activations: [activation(1)] }));
  assert.equal(hearing(host), null);
  host.apply(chain, advance(20));
  assert.equal(hearing(host)?.activatedNanoUsd, 1_000);
  host.apply(chain, { type: "waitFor", readyFrom: 30 });
  assert.equal(hearing(host), null);
  host.apply(chain, { type: "waitFor", readyFrom: 10 });
  assert.equal(hearing(host), null, "the later block counts");
  host.apply(chain, advance(30));
  assert.notEqual(hearing(host), null);
  host.apply(chain, { type: "waitFor", readyFrom: null });
  assert.equal(hearing(host), null, "the block is not known yet");
  host.apply(chain, { type: "waitFor", readyFrom: 30 });
  assert.notEqual(hearing(host), null);
});

test("a new reading begins at the first block with no total, and each reading is larger than the one before", () => {
  const host = makeReader();
  host.apply(chain, advance(10, { activations: [activation(1)], chunks: [chunk("c1", [[0, 400]])] }));
  const statement = { beforeNanoUsd: 400, afterNanoUsd: 500, root: "r", parts: "[]", oldestAt: noon };
  host.apply(chain, { type: "tell", at: noon, account: address, ...statement });
  const replay = hearing(host)?.replay ?? 0;
  host.apply(chain, { type: "reread", at: noon, readyFrom: 0 });
  assert.equal(hearing(host)?.activatedNanoUsd, 1_000, "the same call again changes nothing");
  host.apply(chain, { type: "reread", at: noon + 1, readyFrom: 0 });
  const { replay: next = 0, activatedNanoUsd, debitedNanoUsd, told } = hearing(host) ?? {};
  assert.deepEqual([activatedNanoUsd, debitedNanoUsd, told, cursor(host)?.block], [0, 0, null, 0]);
  assert.ok(next > replay);
  host.apply(chain, advance(10, { activations: [activation(1)], chunks: [chunk("c1", [[0, 400]])] }));
  assert.equal(hearing(host)?.debitedNanoUsd, 400);
});

test("the larger of an account's statements counts, until it is final", () => {
  const host = makeReader();
  host.apply(chain, advance(10, { activations: [activation(1)] }));
  const tell = (beforeNanoUsd: number, afterNanoUsd: number, root = "of c1") => {
    const statement = { beforeNanoUsd, afterNanoUsd, root, parts: "[]", oldestAt: noon };
    return host.apply(chain, { type: "tell", at: noon, account: address, ...statement }).status;
  };
  const due = () => answer(host.rows(chain), { type: "dueStatements", limit: 9 }).map((one) => one.afterNanoUsd);
  assert.equal(tell(0, 400), "told");
  assert.equal(tell(0, 300, "older"), "told");
  assert.deepEqual(due(), [400]);
  host.apply(chain, advance(11, { chunks: [chunk("c1", [[0, 100]])] }));
  assert.deepEqual(due(), [], "it begins before what was debited");
  assert.equal(tell(0, 500), "final", "the account never heard of a debit, and has to");
  tell(100, 400);
  assert.deepEqual(due(), [400]);
  host.apply(chain, advance(12, { chunks: [chunk("c2", [[100, 300]])] }));
  assert.equal(hearing(host)?.told, null);
  assert.equal(tell(100, 400), "final");
  assert.deepEqual(due(), []);
});

test("due statements come oldest first", () => {
  const host = makeReader();
  for (const [n, oldestAt] of [noon + 5, noon, noon + 9].entries()) {
    const statement = { beforeNanoUsd: 0, afterNanoUsd: 9, root: "r", parts: "[]", oldestAt };
    host.apply(chain, { type: "tell", at: noon, account: `0x${String(n + 1).repeat(40)}`, ...statement });
  }
  const due = answer(host.rows(chain), { type: "dueStatements", limit: 2 });
  assert.deepEqual(
    due.map(({ oldestAt }) => oldestAt),
    [noon, noon + 5],
  );
});

test("a transaction is kept under its nonce until it is dropped, and a replacement takes its place", () => {
  const host = makeReader();
  const records = JSON.stringify([{ account: address, beforeNanoUsd: 0 }]);
  const terms = { raw: "0x", maxFeePerGasWei: "1", day: "2027-06-15", records, signedAt: noon };
  for (const [nonce, hash] of [
    [10, "a"],
    [9, "b"],
    [10, "c"],
  ] as const) {
    host.apply(chain, { type: "signChunk", nonce, hash, ...terms });
  }
  const all = () =>
    answer(host.rows(chain), { type: "transactions", limit: 9 }).map(({ nonce, hash }) => [nonce, hash]);
  assert.deepEqual(all(), [
    [9, "b"],
    [10, "c"],
  ]);
  const isSent = (account: string) => answer(host.rows(chain), { type: "sent", account });
  assert.deepEqual([isSent(address), isSent(other)], [true, false]);
  for (let times = 2; times > 0; times -= 1) host.apply(chain, { type: "dropTransaction", nonce: 9 });
  assert.deepEqual(all(), [[10, "c"]]);
  host.apply(chain, { type: "dropTransaction", nonce: 10 });
  assert.equal(isSent(address), false);
});

test("a credit before it is final counts beside the final total, and a new reading forgets it", () => {
  const host = makeReader();
  const early = [activation(3)];
  host.apply(chain, { type: "creditEarly", at: noon, activations: early });
  assert.equal(hearing(host)?.activatedNanoUsd, 3_000);
  host.apply(chain, advance(10, { activations: [activation(1)] }));
  assert.equal(hearing(host)?.activatedNanoUsd, 3_000);
  host.apply(chain, { type: "reread", at: noon + 1, readyFrom: 0 });
  assert.equal(hearing(host)?.activatedNanoUsd, 0);
});

test("totals of more than 2^53 stay exact", () => {
  const host = makeReader();
  const amountToken = String(MAX_NANO_USD / 1_000);
  const all = [1, 2, 3].map((n) => {
    const totalActivated = String(BigInt(amountToken) * BigInt(n));
    const totals = { amountToken, totalActivated, accountActivatedNanoUsd: MAX_NANO_USD };
    return activation(n, { account: `0x${String(n).repeat(40)}`, ...totals });
  });
  assert.equal(host.apply(chain, advance(10, { activations: all })).status, "advanced");
  assert.equal(cursor(host)?.totalActivated, String(BigInt(amountToken) * 3n));
});

test("the rest of a statement that was paid in part waits since the whole was told", () => {
  const host = makeReader();
  host.apply(chain, advance(10, { activations: [activation(1)] }));
  const tell = (beforeNanoUsd: number, at: number) => {
    const statement = { beforeNanoUsd, afterNanoUsd: 900, root: "of c1", parts: "[]", oldestAt: noon };
    return host.apply(chain, { type: "tell", at, account: address, ...statement }).status;
  };
  assert.equal(tell(0, noon), "told");
  host.apply(chain, advance(11, { chunks: [chunk("c1", [[0, 400]])] }));
  host.clock.now = noon + 7_200_000;
  assert.equal(tell(400, host.clock.now), "told");
  const waiting = answer(host.rows(chain), { type: "waiting", toldBefore: noon + 1 });
  assert.deepEqual([waiting.accounts, waiting.amountNanoUsd], [1, 500]);
});

test("activations above the largest amount do not count as credit, and delay no other account", () => {
  const host = makeReader();
  const all = 2n * BigInt(MAX_NANO_USD);
  const sums = { amountToken: String(all / 1_000n), totalActivated: String(all / 1_000n) };
  const huge = activation(1, { ...sums, accountActivatedNanoUsd: MAX_NANO_USD });
  const next = activation(2, {
    ...{ account: other, totalActivated: String(all / 1_000n + 1n), accountActivatedNanoUsd: 1_000 },
  });
  assert.equal(host.apply(chain, advance(10, { activations: [huge, next] })).status, "advanced");
  assert.deepEqual(
    [address, other].map((of) => hearing(host, of)?.activatedNanoUsd),
    [MAX_NANO_USD, 1_000],
  );
});
