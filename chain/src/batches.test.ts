import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { chainPartition } from "@inference/ledger/partition";
import { type Liar, startLiar } from "./testing/liar.ts";
import { chain } from "./testing/shared-chain.ts";
import { alice, bob, type Watch, watch } from "./testing/watch.ts";

/** Batches are read from the chain like activations. Here all are foreign: these books post nothing. */
let liar: Liar;
before(async () => {
  liar = await startLiar(chain.rpcUrl);
});
after(() => liar?.[Symbol.asyncDispose]());
beforeEach(() => {
  liar.lie = undefined;
});

const partition = chainPartition(31337);

/** Alice and Bob have 10,000 nano-dollars each, and two batches debit Alice 1,500 and Bob 7. */
async function postTwo(): Promise<void> {
  await chain.activate(alice, 10n);
  await chain.activate(bob, 10n);
  await chain.settle(1, [
    { account: alice, amountNanoUsd: 1_000n },
    { account: bob, amountNanoUsd: 7n },
  ]);
  await chain.settle(2, [{ account: alice, amountNanoUsd: 500n }]);
  await chain.finalize();
}

async function assertCapped({ balance, ledger }: Watch): Promise<void> {
  assert.deepEqual([await balance(alice), await balance(bob)], [8_500, 9_993]);
  const cursor = await ledger.read(partition, { type: "cursor" });
  assert.deepEqual([cursor?.lastBatchId, cursor?.totalDebitedNanoUsd, cursor?.foreignBatch], [2, "1507", 1]);
  const credits = await ledger.read(partition, { type: "onchain", limit: 5 });
  assert.deepEqual(Object.fromEntries(credits.map((row) => [row.id, row.creditNanoUsd])), {
    [alice]: 8_500,
    [bob]: 9_993,
  });
}

test("a foreign batch lowers the balances to the chain's credit when it is final, and not a block earlier", async () => {
  const watching = watch(chain);
  await chain.activate(alice, 10n);
  await chain.finalize();
  await watching.drain();
  await chain.settle(1, [{ account: alice, amountNanoUsd: 1_000n }]);
  await chain.mine(7);
  await watching.drain();
  assert.equal(await watching.balance(alice), 10_000);
  await chain.mine();
  await watching.drain();
  assert.equal(await watching.balance(alice), 9_000);
});

test("batches are read once each, in whatever ranges, by whatever processes", async () => {
  await postTwo();
  const { ledger } = watch(chain);
  for (let count = 0; count < 100; count += 1) {
    const { watcher } = watch(chain, { ledger, maxBlocks: 1 });
    if ((await watcher.poll()).outcome === "idle") break;
  }
  await assertCapped(watch(chain, { ledger }));
  const fresh = watch(chain);
  await fresh.drain();
  await assertCapped(fresh);
});

type Log = { topics: string[]; data: string };
const DEBITED_WORD = 64;
const lies: Record<string, (logs: Log[]) => Log[]> = {
  "hides a batch": (logs) => logs.slice(0, -2),
  "hides a debit": (logs) => [...logs.slice(0, 2), ...logs.slice(3)],
  "hides the end of a batch": (logs) => logs.slice(0, -1),
  "moves a debit to another account": (logs) => {
    const [first, second, debit, other, ...rest] = logs as [Log, Log, Log, Log, ...Log[]];
    const topics = (log: Log, account = "") => ({ ...log, topics: [...log.topics.slice(0, 2), account] });
    return [first, second, topics(debit, other.topics[2]), topics(other, debit.topics[2]), ...rest];
  },
  "tells another credit": (logs) =>
    logs.map((log, index) => {
      if (index !== logs.length - 2) return log;
      return { ...log, data: `${log.data.slice(0, 2 + DEBITED_WORD)}${"1".padStart(64, "0")}` };
    }),
};
for (const [name, lie] of Object.entries(lies)) {
  test(`a node that ${name} is not believed, and the truth is taken when it comes`, async () => {
    await postTwo();
    const lying = watch(chain, { url: liar.url });
    liar.lie = async ({ method }, honest) =>
      method === "eth_getLogs" ? { result: lie((await honest()).result as Log[]) } : undefined;
    for (let poll = 0; poll < 20; poll += 1) await lying.drain();
    assert.deepEqual([await lying.balance(alice), lying.alerts.length], [0, 1]);
    liar.lie = undefined;
    const { ledger } = lying;
    const honest = watch(chain, { ledger });
    await honest.drain();
    await assertCapped(honest);
  });
}
