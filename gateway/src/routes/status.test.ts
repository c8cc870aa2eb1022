import assert from "node:assert/strict";
import { test } from "node:test";
import { chainPartition } from "@inference/ledger/partition";
import type { Books } from "@inference/protocol/books";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { statusAnswer } from "@inference/protocol/wire/answers";
import { openFixture, PRIMARY } from "../../test/identity-fixture.ts";

/** GET /api/v1/status: the token's books. */
const DOLLAR = 1_000_000_000n;
const books: Books = {
  block: 12,
  at: Date.UTC(2026, 10, 21, 11, 59),
  // More than an amount of ours can be.
  backingNanoUsd: 10_000_000n * DOLLAR + 1n,
  supplyNanoUsd: 9_000_000n * DOLLAR,
  creditNanoUsd: 600_000n * DOLLAR,
  owedNanoUsd: 1n,
  linesNanoUsd: 400_000n * DOLLAR,
};

function open(answers: (Books | null | Error)[]) {
  const fixture = openFixture();
  let asked = 0;
  fixture.chain.books = async () => {
    const next = answers[asked] ?? null;
    asked += 1;
    if (next instanceof Error) throw next;
    return next;
  };
  return { fixture, asked: () => asked };
}

test("the books are told to the last nano-dollar, whatever their size, and whether they add up", async () => {
  for (const [backingNanoUsd, addsUp, text] of [
    [books.backingNanoUsd, true, '"backing":10000000.000000001,"backing_nano_usd":10000000000000001,'],
    [books.backingNanoUsd - 1n, false, '"backing":10000000,"backing_nano_usd":10000000000000000,'],
  ] as const) {
    const { fixture } = open([{ ...books, backingNanoUsd }]);
    const answer = await fixture.call("GET", "/api/v1/status");
    assert.equal(answer.status, 200);
    assert.ok(answer.text.includes(text), answer.text);
    assert.ok(answer.text.includes('"supply":9000000,"supply_nano_usd":9000000000000000,"credit":600000,'));
    const { data } = statusAnswer.parse(JSON.parse(answer.text));
    assert.deepEqual(
      [data.books?.adds_up, data.books?.block, data.books?.at],
      [addsUp, 12, "2026-11-21T11:59:00.000Z"],
    );
  }
});

test("where the chain does not tell them there are none, and the rest is told", async () => {
  for (const silence of [null, new ChainUnavailable("no node")]) {
    const { fixture } = open([silence]);
    const answer = await fixture.call("GET", "/api/v1/status");
    assert.equal(answer.status, 200);
    assert.equal(statusAnswer.parse(JSON.parse(answer.text)).data.books, null);
  }
});

test("the chain is asked once in ten seconds, for however many, also while it does not answer", async () => {
  const { fixture, asked } = open([new ChainUnavailable("no node"), books]);
  const read = async (): Promise<unknown> => {
    const { text } = await fixture.call("GET", "/api/v1/status");
    return statusAnswer.parse(JSON.parse(text)).data.books?.block;
  };
  assert.deepEqual(await Promise.all([read(), read(), read()]), [undefined, undefined, undefined]);
  fixture.time.now += 9_999;
  assert.deepEqual([await read(), asked()], [undefined, 1]);
  fixture.time.now += 1;
  assert.deepEqual([await read(), await read(), asked()], [12, 12, 2]);
});

test("what the chain has debited is told as it was read, with what waits for it by the settler's last poll", async () => {
  const { fixture } = open([]);
  const settlement = async () => statusAnswer.parse((await fixture.call("GET", "/api/v1/status")).body).data.settlement;
  assert.equal(await settlement(), null);
  const chain = chainPartition(PRIMARY);
  const account = `0x${"1".repeat(40)}`;
  const at = fixture.time.now;
  const totals = { amountToken: "1", totalActivated: "1", accountActivatedNanoUsd: 1_000 };
  const booked = { account, beforeNanoUsd: 0, amountNanoUsd: 7, root: "0x01", parts: "[]", proof: "" };
  const sums = { amountNanoUsd: 7, paidAfterNanoUsd: 7, totalDebitedNanoUsd: "7" };
  fixture.ledger.apply(chain, { type: "reread", at, readyFrom: 0 });
  fixture.ledger.apply(chain, {
    ...{ type: "advance", at, block: 5, blockHash: "0x05" },
    activations: [{ id: 1, account, ...totals, block: 4, transaction: "0x04" }],
    chunks: [{ root: "0x02", day: "2026-11-21", ...sums, records: [booked], block: 4, transaction: "0x03" }],
  });
  assert.equal(await settlement(), null, "this gateway posts nothing");
  const waiting = { accounts: 2, amountNanoUsd: 5, oldestAt: at };
  fixture.gateway.environment.settler = () => ({
    ...{ state: "posting", address: `0x${"2".repeat(40)}`, lastPollAt: at, balanceWei: 1n, nonce: 3, inFlight: 1 },
    waiting,
  });
  const told = { chunks_in_flight: 1, waiting: 5e-9, waiting_nano_usd: 5, waiting_accounts: 2 };
  const oldest_at = new Date(at).toISOString();
  // No statement of this ledger had that root.
  const foreign = { foreign: 7e-9, foreign_nano_usd: 7 };
  const named = { ...foreign, foreign_accounts: [{ account, ...foreign }] };
  assert.deepEqual(await settlement(), { debited: 7e-9, debited_nano_usd: 7, ...told, oldest_at, ...named });
});
