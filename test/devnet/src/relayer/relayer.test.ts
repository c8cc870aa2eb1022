import { deepEqual, equal } from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { receiveOptions } from "@inference/contracts/layerzero-options";
import { receiptOf } from "@inference/contracts/receipt";
import { eventually } from "@inference/protocol/testing/eventually";
import { remember } from "../testing/local-chain.ts";
import { type Relayer, startRelayer } from "./relayer.ts";
import {
  alice,
  approvePool,
  balanceOf,
  bob,
  CONFIRMATIONS,
  confirmAll,
  DOLLAR,
  deployer,
  fund,
  type Network,
  sentBy,
  startNetwork,
  workers,
} from "./testing/network.ts";

let network: Network;
let restore: () => Promise<void>;
const running = new Set<Relayer>();
const events: Readonly<Record<string, unknown>>[] = [];

before(async () => {
  network = await startNetwork();
});
beforeEach(async () => {
  restore = await remember([network.here.client, network.there.client]);
});
afterEach(async () => {
  await Promise.all([...running].map(stop));
  events.length = 0;
  await restore();
});
after(async () => {
  await network[Symbol.asyncDispose]();
});

test("a message that a reorganization removes before its confirmations is never attested", async () => {
  start();
  const before = await attestations();
  await network.send(DOLLAR);
  await polled();
  await network.here.client.request({ method: "anvil_reorg", params: [1, []] } as never);
  await network.here.client.mine({ blocks: 3 * CONFIRMATIONS });
  await polled();
  deepEqual(await attestations(), before);
  equal(await received(), 0n);
  equal(await balanceOf(network.here, alice.address), 1_000n * DOLLAR);
  await network.send(2n * DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === 2n * DOLLAR);
});

test("a delivery that would revert costs no gas and is repeated until it works", async () => {
  start();
  const drained = 1_001n * DOLLAR;
  await fund(network.here, alice.address, 2n * DOLLAR);
  await network.there.client.setBalance({ address: workers.executor.address, value: DOLLAR });
  const sent = await network.send(1_000n * DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === 1_000n * DOLLAR);
  await approvePool(network.here);
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(() => told("failed").some(({ guid }) => guid !== sent.guid));
  const before = await sentBy(network.there, workers.executor);
  await polled();
  equal(await received(), 1_000n * DOLLAR);
  equal(await sentBy(network.there, workers.executor), before, "no transaction");
  await fund(network.there, network.there.pool, DOLLAR);
  await eventually(async () => (await received()) === drained);
});

test("a message with too little gas is not delivered at the executor's cost", async () => {
  start();
  const pool = { address: network.here.pool, abi: dollarPool.abi } as const;
  const options = [{ eid: network.there.eid, msgType: 1, options: receiveOptions(20_000n) }];
  const hash = await network.here.client.writeContract({
    ...pool,
    account: deployer,
    functionName: "setEnforcedOptions",
    args: [options],
  });
  await receiptOf(network.here.client, hash);
  await network.send(DOLLAR);
  const before = await sentBy(network.there, workers.executor);
  await confirmAll(network.here);
  await eventually(() => told("failed").length > 2);
  equal(await received(), 0n);
  equal(await sentBy(network.there, workers.executor), before + 1, "the commit alone");
});

function start(): Relayer {
  const relayer = startRelayer({ ...network.options, log: (entry) => events.push(entry) });
  running.add(relayer);
  return relayer;
}

async function stop(relayer: Relayer): Promise<void> {
  running.delete(relayer);
  await relayer.stop();
}

function told(event: string) {
  return events.filter((each) => each.event === event);
}

/** Waits for many polls. */
async function polled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
}

function received(): Promise<bigint> {
  return balanceOf(network.there, bob.address);
}

/** Transactions of each verifier on the receiving chain. */
function attestations(): Promise<number[]> {
  return Promise.all(workers.verifiers.map((verifier) => sentBy(network.there, verifier)));
}
