import { deepEqual, equal, ok } from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { receiveOptions } from "@inference/contracts/layerzero-options";
import { receiptOf } from "@inference/contracts/receipt";
import type { Log } from "@inference/keeper/log";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Hex, keccak256 } from "viem";
import { receiveLibraryAbi } from "./abi.ts";
import type { Packet } from "./packet.ts";
import { type Relayer, startRelayer } from "./relayer.ts";
import type { RelayerSettings } from "./settings.ts";
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
import { type NodeProxy, startNodeProxy } from "./testing/node-proxy.ts";

let network: Network;
/** The first verifier's node of the sending chain. */
let node: NodeProxy;
let snapshots: Hex[];
const running = new Set<Relayer>();
const events: { level: string; event: string; [field: string]: unknown }[] = [];

before(async () => {
  network = await startNetwork();
  node = await startNodeProxy(network.here.rpcUrl);
});
beforeEach(async () => {
  snapshots = await Promise.all([network.here, network.there].map(({ client }) => client.snapshot()));
});
afterEach(async () => {
  await Promise.all([...running].map(stop));
  events.length = 0;
  node.lie = undefined;
  node.isOffline = false;
  await Promise.all(
    [network.here, network.there].map(({ client }, index) => client.revert({ id: snapshots[index] ?? "0x" })),
  );
});
after(async () => {
  await node[Symbol.asyncDispose]();
  await network[Symbol.asyncDispose]();
});

test("a message is attested by both verifiers and delivered, with what was sent", async () => {
  start(network.settings());
  await network.send(5n * DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === 5n * DOLLAR);
  equal(await balanceOf(network.there, network.there.pool), 995n * DOLLAR);
});

test("nothing is attested before it has the blocks upon it that it needs", async () => {
  start(network.settings());
  const before = await attestations();
  await network.send(DOLLAR);
  await network.here.client.mine({ blocks: CONFIRMATIONS - 1 });
  await polled();
  deepEqual(await attestations(), before);
  await network.here.client.mine({ blocks: 1 });
  await eventually(async () => (await received()) === DOLLAR);
});

test("a message that is told twice, and read anew by a relayer without a memory, is delivered once", async () => {
  const told: NodeProxy["lie"] = ({ method }, answer) =>
    method === "eth_getLogs" && Array.isArray(answer.result)
      ? { ...answer, result: [...answer.result, ...answer.result] }
      : answer;
  node.lie = told;
  const settings = network.settings({ rpcUrls: { "verifier 1": node.url, executor: node.url } });
  const first = start(settings);
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === DOLLAR);
  await stop(first);
  const before = await transactions();
  start(network.settings({ rpcUrls: { "verifier 1": node.url, executor: node.url } }));
  await polled();
  equal(await received(), DOLLAR);
  deepEqual(await transactions(), before);
});

test("a relayer that stopped in the middle goes on there and does nothing twice", async () => {
  await using executorsNode = await startNodeProxy(network.here.rpcUrl);
  executorsNode.isOffline = true;
  const settings = network.settings({ rpcUrls: { executor: executorsNode.url } });
  const first = start(settings);
  await network.send(DOLLAR);
  await confirmAll(network.here);
  const before = await attestations();
  await eventually(async () => (await attestations()).every((count, index) => count === (before[index] ?? 0) + 1));
  await stop(first);
  equal(await received(), 0n);

  executorsNode.isOffline = false;
  start(settings);
  await eventually(async () => (await received()) === DOLLAR);
  deepEqual(
    await attestations(),
    before.map((count) => count + 1),
  );
});

test("a verifier whose node lies attests alone, and its lie cannot be committed", async () => {
  // A thousand times as many dollars.
  const forge = (packet: string): string =>
    packet.slice(0, -16) + (BigInt(`0x${packet.slice(-16)}`) * 1_000n).toString(16).padStart(16, "0");
  let forged: Hex = "0x";
  const real = await network.send(DOLLAR);
  const payload = real.encoded.slice(2);
  node.lie = ({ method }, answer) => {
    if (method !== "eth_getLogs") return answer;
    const lie = forge(payload);
    forged = `0x${lie}`;
    return JSON.parse(JSON.stringify(answer).replaceAll(payload, lie));
  };
  start(network.settings({ rpcUrls: { "verifier 1": node.url, executor: node.url } }));
  const before = await attestations();
  await confirmAll(network.here);
  await eventually(async () => (await attestations()).every((count, index) => count > (before[index] ?? 0)));
  await polled();
  equal(await received(), 0n);
  await rejectsCommit(real, `0x${forged.slice(2 + 2 * 81)}`);
  await rejectsCommit(real, `0x${real.encoded.slice(2 + 2 * 81)}`);
});

test("while a verifier's node is away nothing is delivered and the operator is told; then it goes on", async () => {
  node.isOffline = true;
  start(network.settings({ rpcUrls: { "verifier 1": node.url } }));
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(() => told("unreadable").length > 0);
  await polled();
  equal(await received(), 0n);
  equal(told("unreadable").length, 1, "once, however often it is tried");
  equal(told("unreadable")[0]?.level, "alert");
  node.isOffline = false;
  await eventually(async () => (await received()) === DOLLAR);
});

test("a verifier's node that is behind delays a message and loses nothing", async () => {
  const lag = 10n;
  node.lie = ({ method }, answer) =>
    method === "eth_blockNumber"
      ? { ...answer, result: `0x${(BigInt(String(answer.result)) - lag).toString(16)}` }
      : answer;
  start(network.settings({ rpcUrls: { "verifier 1": node.url } }));
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await polled();
  equal(await received(), 0n);
  await network.here.client.mine({ blocks: Number(lag) });
  await eventually(async () => (await received()) === DOLLAR);
});

test("a message that a node hides is missed at the next one, and none of both is skipped", async () => {
  const hidden = await network.send(DOLLAR);
  const shown = (log: unknown) => !JSON.stringify(log).includes(hidden.guid.slice(2));
  node.lie = ({ method }, answer) =>
    method === "eth_getLogs" && Array.isArray(answer.result)
      ? { ...answer, result: answer.result.filter(shown) }
      : answer;
  const settings = network.settings({ rpcUrls: { "verifier 1": node.url } });
  // It has seen the path before: a gap is what comes after what is known.
  node.lie = undefined;
  const first = start(settings);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === DOLLAR);
  await stop(first);

  const second = await network.send(2n * DOLLAR);
  await network.send(4n * DOLLAR);
  node.lie = ({ method }, answer) =>
    method === "eth_getLogs" && Array.isArray(answer.result)
      ? { ...answer, result: answer.result.filter((log) => !JSON.stringify(log).includes(second.guid.slice(2))) }
      : answer;
  start(settings);
  await confirmAll(network.here);
  await eventually(() => told("unreadable").some(({ reason }) => /hides a message/.test(String(reason))));
  equal(await received(), DOLLAR);
  node.lie = undefined;
  await eventually(async () => (await received()) === 7n * DOLLAR);
});

test("a message that a node hid until it had been read past is found when the node tells it again", async () => {
  const first = start(network.settings({ rpcUrls: { "verifier 1": node.url } }));
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === DOLLAR);
  const hidden = await network.send(2n * DOLLAR);
  hide(hidden);
  await confirmAll(network.here);
  await polled();
  await network.send(4n * DOLLAR);
  await confirmAll(network.here);
  await eventually(() => told("unreadable").some(({ reason }) => /hides a message/.test(String(reason))));
  node.lie = undefined;
  await eventually(async () => (await received()) === 7n * DOLLAR);
  await stop(first);
});

test("the first message of a path is missed like any other", async () => {
  hide(await network.send(DOLLAR));
  start(network.settings({ rpcUrls: { "verifier 1": node.url } }));
  await confirmAll(network.here);
  await polled();
  await network.send(2n * DOLLAR);
  await confirmAll(network.here);
  await eventually(() => told("unreadable").some(({ reason }) => /hides a message/.test(String(reason))));
  node.lie = undefined;
  await eventually(async () => (await received()) === 3n * DOLLAR);
});

test("a message that a reorganization takes back before it counts is never attested", async () => {
  start(network.settings());
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

test("a reorganization that goes deeper than the confirmations is told, and what came in its place is read", async () => {
  start(network.settings());
  await network.here.client.mine({ blocks: 8 });
  await polled();
  await network.here.client.request({ method: "anvil_reorg", params: [7, []] } as never);
  await network.here.client.mine({ blocks: 1 });
  await eventually(() => told("reorganized").length > 0);
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === DOLLAR);
});

test("what a reorganization takes back at the destination is done again", async () => {
  start(network.settings());
  await network.send(DOLLAR);
  await confirmAll(network.here);
  await eventually(async () => (await received()) === DOLLAR);
  await network.there.client.request({ method: "anvil_reorg", params: [CONFIRMATIONS, []] } as never);
  equal(await received(), 0n);
  await eventually(async () => (await received()) === DOLLAR);
});

test("a message whose receiver reverts is tried again until it can be delivered", async () => {
  start(network.settings());
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
  equal(await sentBy(network.there, workers.executor), before, "what would revert costs no gas");
  await fund(network.there, network.there.pool, DOLLAR);
  await eventually(async () => (await received()) === drained);
});

test("a message that has paid for too little gas is not delivered at the executor's cost", async () => {
  start(network.settings());
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
  await eventually(() => told("failed").filter(({ worker }) => worker === "executor").length > 2);
  equal(await received(), 0n);
  equal(await sentBy(network.there, workers.executor), before + 1, "the commit alone");
});

function start(settings: RelayerSettings): Relayer {
  const log: Log = (level, event, fields = {}) => void events.push({ level, event, ...fields });
  const relayer = startRelayer(settings, { now: Date.now, log });
  running.add(relayer);
  return relayer;
}

async function stop(relayer: Relayer): Promise<void> {
  running.delete(relayer);
  await relayer.stop();
}

/** Lets the first verifier's node tell everything but this message. */
function hide({ guid }: Packet): void {
  node.lie = ({ method }, answer) =>
    method === "eth_getLogs" && Array.isArray(answer.result)
      ? { ...answer, result: answer.result.filter((log) => !JSON.stringify(log).includes(guid.slice(2))) }
      : answer;
}

function told(event: string) {
  return events.filter((each) => each.event === event);
}

/** Long enough for many polls: what has not happened then would not happen. */
async function polled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
}

function received(): Promise<bigint> {
  return balanceOf(network.there, bob.address);
}

/** What each verifier has sent to the receiving chain. */
function attestations(): Promise<number[]> {
  return Promise.all(workers.verifiers.map((verifier) => sentBy(network.there, verifier)));
}

async function transactions(): Promise<number[]> {
  return [...(await attestations()), await sentBy(network.there, workers.executor)];
}

async function rejectsCommit(packet: Packet, payload: Hex): Promise<void> {
  const committed = await network.there.client
    .simulateContract({
      address: network.there.layerZero.receiveLibrary,
      abi: receiveLibraryAbi,
      functionName: "commitVerification",
      args: [packet.header, keccak256(payload)],
    })
    .then(
      () => "committed",
      (error: unknown) => String(error),
    );
  ok(/LZ_ULN_Verifying/.test(committed), committed);
}
