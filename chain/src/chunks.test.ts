import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Hearing } from "@inference/ledger/commands";
import { accountPartition, chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { shareLiar } from "./testing/liar.ts";
import { chain } from "./testing/shared-chain.ts";
import { alice, bob, type Watch, watch } from "./testing/watch.ts";

/** Chunks of debits are read from the chain like activations. No account of this ledger told a statement of them. */
const liar = shareLiar(() => chain.rpcUrl);
beforeEach(() => chain.reset());

const partition = chainPartition(31337);

/** Alice and Bob have 10,000 nano-dollars each, and two chunks debit Alice 1,500 and Bob 7. */
async function postTwo(): Promise<void> {
  await chain.activate(alice, 10n);
  await chain.activate(bob, 10n);
  await chain.settle([
    { account: alice, before: 0, amount: 1_000 },
    { account: bob, before: 0, amount: 7 },
  ]);
  await chain.settle([{ account: alice, before: 1_000, amount: 500 }]);
  await chain.finalize();
}

async function debited({ ledger }: Watch, account: typeof alice): Promise<number> {
  return (await ledger.read(accountPartition(account), { type: "bill" })).debitedNanoUsd;
}

/** The totals that the account hears; null while it has to wait. */
async function totalsOf({ ledger }: Watch, account: typeof alice): Promise<Hearing | null> {
  const reply = await ledger.run(() => send(partition, { type: "inquire", account }));
  return reply.status === "answered" ? reply.hearing : null;
}

async function assertRead(watching: Watch): Promise<void> {
  const { ledger } = watching;
  assert.deepEqual([await debited(watching, alice), await debited(watching, bob)], [1_500, 7]);
  const cursor = await ledger.read(partition, { type: "cursor" });
  assert.equal(cursor?.totalDebitedNanoUsd, "1507");
  const records = await ledger.read(partition, { type: "records", account: alice, afterNanoUsd: 0, limit: 5 });
  assert.deepEqual(
    records.map(({ beforeNanoUsd, amountNanoUsd }) => [beforeNanoUsd, amountNanoUsd]),
    [
      [0, 1_000],
      [1_000, 500],
    ],
  );
}

for (const confirmations of ["finalized", 0] as const) {
  test(`a debit counts when it is final, and not a block earlier, with CONFIRMATIONS ${confirmations}`, async () => {
    const watching = watch(chain, { confirmations });
    await chain.activate(alice, 10n);
    await chain.finalize();
    await watching.drain();
    await chain.settle([{ account: alice, before: 0, amount: 1_000 }]);
    await chain.mine(7);
    await watching.drain();
    assert.equal(await debited(watching, alice), 0);
    await chain.mine();
    await watching.drain();
    assert.equal(await debited(watching, alice), 1_000);
  });
}

test("chunks are read once each, in any ranges, by any processes", async () => {
  await postTwo();
  const { ledger } = watch(chain);
  for (let count = 0; count < 100; count += 1) {
    const { watcher } = watch(chain, { ledger, maxBlocks: 1 });
    if ((await watcher.poll()).outcome === "idle") break;
  }
  await assertRead(watch(chain, { ledger }));
  const fresh = watch(chain);
  await fresh.drain();
  await assertRead(fresh);
});

type Log = { topics: string[]; data: string };
/** Where the records begin in the data of `Settled`: after three amounts, the offset and the length. */
const RECORDS_AT = 2 + 64 * 5;
/** The byte of a chunk in which a record's account ends. */
const ACCOUNT_END = RECORDS_AT + 2 * (1 + 20);

function altered(log: Log, at: number, digits: string): Log {
  return { ...log, data: log.data.slice(0, at) + digits + log.data.slice(at + digits.length) };
}

/** Alters every chunk of every range. An activation has one more topic. */
const chunks = (alter: (log: Log) => Log[]) => (logs: Log[]) =>
  logs.flatMap((log) => (log.topics.length === 3 ? alter(log) : [log]));

const lies: Record<string, (logs: Log[]) => Log[]> = {
  "hides a chunk": chunks(() => []),
  "moves a debit to another account": chunks((log) => [altered(log, ACCOUNT_END - 2, "ff")]),
  "tells another sum": chunks((log) => [altered(log, 60, "ffff")]),
  "tells a chunk with half a record": chunks((log) => [altered(log, 320, "30")]),
};
for (const [name, lie] of Object.entries(lies)) {
  test(`a node that ${name} is not believed, and the truth is taken when it comes`, async () => {
    await postTwo();
    const lying = watch(chain, { url: liar.url });
    liar.lie = async ({ method }, honest) =>
      method === "eth_getLogs" ? { result: lie((await honest()).result as Log[]) } : undefined;
    for (let poll = 0; poll < 20; poll += 1) await lying.drain();
    assert.deepEqual([await debited(lying, alice), lying.alerts.length], [0, 1]);
    liar.lie = undefined;
    const { ledger } = lying;
    const honest = watch(chain, { ledger });
    await honest.drain();
    await assertRead(honest);
  });
}

test("after a reread an account is answered once a block is final that is later than the reread", async () => {
  const watching = watch(chain);
  await postTwo();
  await watching.drain();
  const block = await chain.latest();
  watching.watcher.reread();
  await watching.drain();
  const totals = () => totalsOf(watching, alice);
  assert.equal(await totals(), null);
  await chain.mine(8);
  await watching.drain();
  assert.equal(watching.watcher.status().block, block);
  assert.equal(await totals(), null);
  await chain.mine();
  await watching.drain();
  assert.equal((await totals())?.debitedNanoUsd, 1_500);
  await assertRead(watching);
});

test("after a start with rows that may be a copy an account is answered once the final block is read", async () => {
  const first = watch(chain);
  await postTwo();
  await first.drain();
  await chain.mine(9);
  const { ledger } = first;
  const totals = () => totalsOf(first, alice);
  await first.drain();
  assert.notEqual(await totals(), null);
  await chain.mine(6);
  const second = watch(chain, { ledger, mayBeCopy: true, maxBlocks: 3 });
  assert.equal((await second.watcher.poll()).outcome, "advanced");
  assert.equal(await totals(), null);
  await second.watcher.poll();
  assert.notEqual(await totals(), null);
});
