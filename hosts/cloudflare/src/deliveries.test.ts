import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { OutboxRow } from "@inference/ledger/tables";
import { eventually } from "@inference/protocol/testing/eventually";
import { makeDeliveries, type Outcome } from "./deliveries.ts";
import { startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";

const settled: Outcome = { status: "settled" };

/** An outbox, and every call that was made for it; each call is answered when the test says so. */
function makeOutbox() {
  const rows = new Map<string, OutboxRow>();
  const calls: { target: string; ids: string[]; answer(outcomes: Outcome[]): void; fail(): void }[] = [];
  let reads = 0;
  const deliver = makeDeliveries({
    rows: {
      outbox() {
        reads += 1;
        return [...rows.values()];
      },
    },
    send: (target, commands) => {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome[]>();
      const ids = commands.map((command) => ("id" in command ? command.id : ""));
      calls.push({ target, ids, answer: resolve, fail: () => reject(new Error("overloaded")) });
      return promise;
    },
    acknowledge: (made) => {
      for (const id of made) rows.delete(id);
    },
  });
  return {
    rows,
    calls,
    reads: () => reads,
    write(id: string, target: string) {
      const command = JSON.stringify({ type: "acknowledge", id });
      rows.set(`${id}>${target}`, { id: `${id}>${target}`, target, command });
      return deliver();
    },
    deliver,
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("deliveries that are added during a delivery go with the next ones, in one call for each target", async () => {
  const { rows, calls, write } = makeOutbox();
  const first = write("b", "ceiling");
  const others = ["c", "a", "d"].flatMap((id) => [write(id, "ceiling"), write(id, "account:b")]);
  assert.deepEqual(
    calls.map(({ ids }) => ids),
    [["b"]],
  );
  calls[0]?.answer([settled]);
  await turn();
  assert.deepEqual(
    calls.slice(1).map(({ target, ids }) => [target, ids]),
    [
      ["ceiling", ["c", "a", "d"]],
      ["account:b", ["c", "a", "d"]],
    ],
  );
  for (const { answer, ids } of calls.slice(1)) answer(ids.map(() => settled));
  await Promise.all([first, ...others]);
  assert.equal(rows.size, 0);
});

test("one that failed stays, is tried once in a pass, and keeps no other back", async () => {
  const { rows, calls, write, deliver } = makeOutbox();
  const passes = ["a", "b", "c"].map((id) => write(id, "ceiling"));
  calls[0]?.answer([{ failed: "out of order" }]);
  await turn();
  calls[1]?.answer([{ failed: "too much" }, settled]);
  await Promise.all(passes);
  assert.deepEqual([...rows.keys()], ["a>ceiling", "b>ceiling"]);
  assert.equal(calls.length, 2);
  const again = deliver();
  assert.deepEqual(calls[2]?.ids, ["a", "b"]);
  calls[2]?.answer([settled, settled]);
  await again;
  assert.equal(rows.size, 0);
});

test("a target that cannot be reached is called once in a pass, keeps no other back, and is left alone for a moment", async () => {
  const { rows, calls, write, deliver, reads } = makeOutbox();
  const passes = Array.from({ length: 200 }, (_, n) => write(`id${n}`, "ceiling"));
  passes.push(write("z", "account:b"));
  calls[0]?.fail();
  await turn();
  assert.deepEqual(
    calls.slice(1).map(({ target }) => target),
    ["account:b"],
    "of all that is behind it",
  );
  calls[1]?.answer([settled]);
  await Promise.all(passes);
  assert.equal(rows.size, 200);
  const before = reads();
  await Promise.all(["x", "y"].map((id) => write(id, "ceiling")));
  assert.deepEqual([calls.length, reads()], [2, before], "nor is the outbox read again for what is written now");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const again = deliver();
  assert.equal(calls[2]?.ids.length, 64);
  for (let call = 2; call < calls.length; call += 1) {
    calls[call]?.answer(calls[call]?.ids.map(() => settled) ?? []);
    await turn();
  }
  await again;
  assert.equal(rows.size, 0);
});

test("a target that answers again is called within a moment, however much is delivered to others meanwhile", async () => {
  const { calls, write } = makeOutbox();
  void write("a", "account:b");
  void write("b", "ceiling");
  calls[0]?.fail();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const later = () => calls.slice(1);
  const until = Date.now() + 4_000;
  for (let answered = 0; !later().some(({ target }) => target === "account:b"); answered += 1) {
    assert.ok(Date.now() < until, "it was never called again");
    // While one is under way the next is written: the pass does not end.
    void write(`c${answered}`, "ceiling");
    later()[answered]?.answer(later()[answered]?.ids.map(() => settled) ?? []);
    await turn();
  }
});

test("the next query to an object makes the deliveries that its dead process left, before any lease ends", async () => {
  const edge = await startEdge();
  try {
    const address = "0x00000000000000000000000000000000000000dd";
    const account = accountPartition(address);
    const { digest } = await edge.account(1_000_000_000, { address });
    assert.equal(await hold(edge.put, account, { id: "req_a", digest, amountNanoUsd: 1_000 }), "reserved");
    await edge.object(ceilingPartition, "refuse", 1_000);
    const end = {
      id: "req_a",
      at: Date.now(),
      chargeNanoUsd: 700,
      lossNanoUsd: 0,
      detail: "{}",
      snapshot: "00",
    } as const;
    assert.equal((await edge.put(account, { type: "settle", ...end })).status, "settled");
    const ceiling = () => edge.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    assert.equal((await ceiling()).heldNanoUsd, 1_000);

    await edge.restart();
    await edge.read(account, { type: "balance", at: Date.now() });
    await eventually(async () => {
      const { heldNanoUsd, settledNanoUsd } = await ceiling();
      assert.deepEqual([heldNanoUsd, settledNanoUsd], [0, 700]);
    });
  } finally {
    await edge.stop();
  }
});
