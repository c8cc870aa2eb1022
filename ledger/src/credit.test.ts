import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import type { Activation, Commands } from "./commands.ts";
import { chainPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { account, credit, makeExample, noon } from "./testing/example.ts";

const chain = chainPartition(8453);
type Advance = Commands["advance"]["command"];

const balance = (host: ReturnType<typeof makeExample>) =>
  answer(host.rows(account), { type: "balance", at: noon }).limitNanoUsd;
const cursor = (host: ReturnType<typeof makeExample>) => answer(host.rows(chain), { type: "cursor" });

function activation(id: number, amountToken: number, totalActivated: number): Activation {
  const address = `0x${"1".repeat(40)}`;
  return {
    id,
    account: address,
    amountToken: `${amountToken}`,
    totalActivated: `${totalActivated}`,
    block: 10,
    transaction: "0xaa",
  };
}

function advance(block: number, activations: Activation[], blockHash = `hash ${block}`): Advance {
  return { type: "advance", at: noon, chainId: 8453, block, blockHash, activations };
}

test("a credit counts once for its id, and another amount under that id not at all", () => {
  const host = makeExample({ balance: 100 });
  assert.equal(host.apply(account, credit("1:2", 50)).status, "credited");
  assert.equal(host.apply(account, credit("1:2", 50)).status, "credited");
  assert.equal(balance(host), 150);
  assert.equal(host.alerts.length, 0);
  assert.equal(host.apply(account, credit("1:2", 51)).status, "conflict");
  assert.equal(host.alerts.length, 1);
  assert.equal(balance(host), 150);
  assert.deepEqual(
    answer(host.rows(account), { type: "credits", limit: 10 }).map(({ id, amountNanoUsd }) => [id, amountNanoUsd]),
    [
      ["1:1", 100],
      ["1:2", 50],
    ],
  );
});

test("a balance beyond what an amount can be is never written: the credit is refused, and the operator told", () => {
  const host = makeExample({ balance: MAX_NANO_USD });
  assert.equal(host.apply(account, credit("1:2", 1)).status, "too_much");
  assert.match(host.alerts.join(), /credit 1:2 of 1 is more than the balance can take/);
  assert.equal(balance(host), MAX_NANO_USD);
  assert.equal(host.rows(account).get("credit", "1:2"), undefined);
});

test("activations move the cursor and their credits in one commit, a token unit being a thousand nano-dollars", () => {
  const host = makeExample({ balance: 0 });
  assert.equal(host.apply(chain, advance(10, [activation(1, 5, 5), activation(2, 7, 12)])).status, "advanced");
  assert.deepEqual(cursor(host), {
    id: "cursor",
    block: 10,
    blockHash: "hash 10",
    lastActivationId: 2,
    totalActivated: "12",
    lastBatchId: null,
    totalDebitedNanoUsd: null,
    foreignBatch: null,
  });
  assert.deepEqual(
    host.outbox().map(({ row }) => row.id),
    [`8453:1>${account}`, `8453:2>${account}`],
  );
  assert.equal(balance(host), 0);
  for (const delivery of host.outbox()) host.deliver(delivery, { acknowledge: false });
  host.deliverAll();
  assert.equal(balance(host), 12_000);
  assert.equal(host.apply(chain, advance(11, [])).status, "advanced");
  assert.equal(cursor(host)?.block, 11);
});

const wrong: Record<string, Advance> = {
  "a gap": advance(11, [activation(4, 1, 14)]),
  "a gap behind a right one": advance(11, [activation(3, 1, 13), activation(5, 1, 14)]),
  "a duplicate": advance(11, [activation(2, 7, 12)]),
  "a total too small": advance(11, [activation(3, 1, 12)]),
  "a total too large": advance(11, [activation(3, 1, 14)]),
  "an earlier block": advance(9, []),
  "another block of the same height": advance(10, [], "another hash"),
  "a gap in the block we are at": advance(10, [activation(4, 1, 13)]),
};
for (const [name, command] of Object.entries(wrong)) {
  test(`the chain stops at ${name}, and nothing has moved`, () => {
    const host = makeExample({ balance: 0 });
    host.apply(chain, advance(10, [activation(1, 5, 5), activation(2, 7, 12)]));
    host.deliverAll();
    const before = cursor(host);
    const reply = host.apply(chain, command);
    assert.equal(reply.status, "gap");
    assert.ok(reply.status === "gap" && reply.expected !== reply.got);
    assert.deepEqual(cursor(host), before);
    assert.deepEqual(host.outbox(), []);
  });
}

test("the same advance again answers as before and credits nothing more", () => {
  const host = makeExample({ balance: 0 });
  const command = advance(10, [activation(1, 5, 5), activation(2, 7, 12)]);
  host.apply(chain, command);
  host.deliverAll();
  assert.equal(host.apply(chain, command).status, "advanced");
  assert.deepEqual(host.outbox(), []);
  assert.equal(balance(host), 12_000);
});

test("the chain's total goes on beyond 2^53", () => {
  const host = makeExample({ balance: 0 });
  const big = 9_000_000_000_000;
  for (let id = 1; id <= 2_000; id += 1_000) {
    const some = Array.from({ length: 1_000 }, (_, n) => ({
      ...activation(id + n, big, 0),
      totalActivated: `${BigInt(big) * BigInt(id + n)}`,
    }));
    assert.equal(host.apply(chain, advance(10 + id, some)).status, "advanced");
  }
  assert.equal(cursor(host)?.totalActivated, "18000000000000000");
});
