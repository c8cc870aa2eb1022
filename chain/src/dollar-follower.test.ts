import assert from "node:assert/strict";
import { test } from "node:test";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import type { Address } from "@inference/protocol/credential";
import type { FollowedChain } from "@inference/protocol/dollars";
import {
  type Abi,
  type ContractEventName,
  decodeFunctionData,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
  keccak256,
  numberToHex,
  toHex,
} from "viem";
import { createDollarFollower } from "./dollar-follower.ts";
import type { ChainClient } from "./rpc.ts";

/**
 * The follower over two scripted chains: what it makes of their events in any order, of a restart, and of nodes that
 * are wrong. The real contracts are in `test/devnet/src/testing/three-chains-suite.ts`.
 */
const TOKEN: Address = "0x00000000000000000000000000000000000000a1";
const BRIDGE: Address = "0x00000000000000000000000000000000000000b1";
const MINTER: Address = "0x00000000000000000000000000000000000000c1";
const OUTBOX: Address = "0x00000000000000000000000000000000000000d1";
const ENDPOINT: Address = "0x00000000000000000000000000000000000000e1";
const ALICE: Address = "0x00000000000000000000000000000000000000f1";
const allAbis = [...inferenceTokenAbi, ...tokenBackingOutboxAbi, ...tokenBridgeAbi, ...tokenMinterAbi] as Abi;
const guidOf = (name: string): Hex => keccak256(toHex(name));
const GENESIS_S = 1_700_000_000;

type Log = { block: number; address: Address; topics: readonly Hex[]; data: Hex };

/** A chain of one block a second, whose events and views the test writes. */
class ScriptedChain {
  readonly chainId: number;
  nodeChainId: number;
  head = 20;
  final = 10;
  fork = "";
  isDown = false;
  logs: Log[] = [];
  views: Record<string, unknown> = {};
  /** The views that were asked for, in order. */
  asked: string[] = [];
  /** The nonce of a message that this chain has verified, whatever its views say. */
  verifiedNonce: bigint | undefined;
  constructor(chainId: number) {
    this.chainId = chainId;
    this.nodeChainId = chainId;
  }

  emit<const N extends ContractEventName<typeof tokenBridgeAbi>>(block: number, eventName: N, args: object): void {
    this.emitFrom(BRIDGE, tokenBridgeAbi as Abi, { block, eventName, args });
  }

  emitFrom(address: Address, abi: Abi, event: { block: number; eventName: string; args: object }): void {
    const { block, eventName, args } = event;
    const item = abi.find((each) => each.type === "event" && each.name === eventName);
    assert.ok(item?.type === "event");
    const topics = encodeEventTopics({ abi, eventName, args } as never) as Hex[];
    const plain = item.inputs.filter(({ indexed }) => indexed !== true);
    const values = plain.map(({ name }) => (args as Record<string, unknown>)[name ?? ""]);
    this.logs.push({ block, address, topics, data: encodeAbiParameters(plain, values) });
  }

  client: ChainClient = {
    request: async (method, params) => {
      if (this.isDown) throw new Error("unreachable");
      return this.#answer(method, params[0]);
    },
  };

  #answer(method: string, param: unknown): unknown {
    if (method === "eth_chainId") return numberToHex(this.nodeChainId);
    if (method === "eth_getBlockByNumber") return this.#block(param as string);
    if (method === "eth_getLogs") return this.#logs(param as { fromBlock: Hex; toBlock: Hex });
    const { data } = param as { data: Hex };
    const abi = [...allAbis, ...inboundAbi] as Abi;
    const { functionName, args } = decodeFunctionData({ abi, data });
    this.asked.push(functionName);
    if (functionName === "inboundPayloadHash" && args?.[3] === this.verifiedNonce) return keccak256("0x01");
    return encodeFunctionResult({ abi, functionName, result: this.views[functionName] } as never);
  }

  #block(which: string): unknown {
    const number = which === "latest" ? this.head : which === "finalized" ? this.final : Number(which);
    const hash = keccak256(toHex(`${this.chainId} ${this.fork} ${number}`));
    return { number: numberToHex(number), hash, timestamp: numberToHex(GENESIS_S + number) };
  }

  #logs({ fromBlock, toBlock }: { fromBlock: Hex; toBlock: Hex }): unknown[] {
    const inRange = this.logs.filter(({ block }) => block >= Number(fromBlock) && block <= Number(toBlock));
    return inRange.map(({ block, ...log }) => ({
      ...log,
      blockNumber: numberToHex(block),
      transactionHash: keccak256(toHex(`${this.chainId} ${block}`)),
    }));
  }
}

const inboundAbi = [
  {
    type: "function",
    name: "inboundPayloadHash",
    stateMutability: "view",
    inputs: [{ type: "address" }, { type: "uint32" }, { type: "bytes32" }, { type: "uint64" }],
    outputs: [{ type: "bytes32" }],
  },
] as const;

function open() {
  const chains = { primary: new ScriptedChain(1), secondary: new ScriptedChain(2) };
  chains.secondary.views = {
    ...{ totalSupply: 0n, pending: 0n, pendingSince: 0n, nextFlushAt: 0n, flushed: 0n },
    ...{ endpoint: ENDPOINT, inboundPayloadHash: `0x${"0".repeat(64)}` },
  };
  chains.primary.views = { lineOf: [0n, 0n], endpoint: ENDPOINT, inboundPayloadHash: `0x${"0".repeat(64)}` };
  const kept: { text: string | null; isFull?: boolean } = { text: null };
  const alerts: string[] = [];
  const time = { now: (GENESIS_S + 20) * 1_000 };
  const followed = (chain: ScriptedChain): FollowedChain => ({
    ...{ chainId: chain.chainId, eid: chain.chainId * 100, rpcUrl: String(chain.chainId), startBlock: 0 },
    ...{ token: TOKEN, bridge: BRIDGE },
    minter: chain === chains.primary ? MINTER : null,
    outbox: chain === chains.primary ? null : OUTBOX,
  });
  const start = () =>
    createDollarFollower({
      followed: { primary: followed(chains.primary), secondaries: [followed(chains.secondary)] },
      clientOf: (url) => (url === "1" ? chains.primary : chains.secondary).client,
      confirmations: "finalized",
      store: {
        load: async () => kept.text,
        save: async (text) => {
          if (kept.isFull === true) throw new Error("too large");
          kept.text = text;
        },
      },
      now: () => time.now,
      onAlert: (message) => alerts.push(message),
    });
  return { ...chains, kept, alerts, time, start };
}

const message = (amount: bigint) => ({ kind: 1, from: ALICE, to: ALICE, amount });
const burn = (name: string, amount: bigint) => ({ guid: guidOf(name), dstEid: 100, message: message(amount) });
const arrival = (name: string, amount: bigint) => ({ guid: guidOf(name), srcEid: 200, message: message(amount) });

test("a message passes the stages burned, sent, verified, waiting and delivered, and the books add up in each", async () => {
  const { primary, secondary, start } = open();
  const follower = start();
  const look = async () => {
    await follower.poll();
    const [books] = follower.view()?.chains ?? [];
    assert.equal(books?.addsUp, true);
    return { ...follower.view()?.messages[0], inFlight: books?.inFlightToken, waiting: books?.waitingToken };
  };
  // Five dollars came in on the secondary chain and were booked on the primary one, and then burned there.
  secondary.views = { ...secondary.views, flushed: 5n };
  primary.views = { ...primary.views, lineOf: [5n, 0n] };
  primary.emitFrom(MINTER, tokenMinterAbi as Abi, {
    block: 3,
    eventName: "Booked",
    args: { eid: 200, amount: 5n, lineAfter: 5n, backingAfter: 5n },
  });
  secondary.emit(15, "Sent", burn("one", 5n));
  assert.deepEqual(pick(await look()), { stage: "burned", inFlight: 5n, waiting: 0n, delivery: null });
  secondary.final = 15;
  assert.deepEqual(pick(await look()), { stage: "sent", inFlight: 5n, waiting: 0n, delivery: null });
  primary.views = { ...primary.views, inboundPayloadHash: keccak256("0x01") };
  assert.deepEqual(pick(await look()), { stage: "verified", inFlight: 5n, waiting: 0n, delivery: null });
  primary.emit(16, "Waiting", arrival("one", 5n));
  assert.deepEqual(pick(await look()), { stage: "waiting", inFlight: 5n, waiting: 5n, delivery: null });
  primary.emit(18, "Delivered", arrival("one", 5n));
  primary.views = { ...primary.views, lineOf: [0n, 0n] };
  const { stage, inFlight, at, delivery } = await look();
  assert.deepEqual([stage, inFlight, at], ["delivered", 0n, (GENESIS_S + 15) * 1_000]);
  assert.deepEqual([delivery?.block, delivery?.at], [18, (GENESIS_S + 18) * 1_000]);
});

function pick({ stage, inFlight, waiting, delivery }: Record<string, unknown>) {
  return { stage, inFlight, waiting, delivery };
}

test("a restarted follower continues from its store, without reading old blocks again", async () => {
  const { primary, secondary, kept, start } = open();
  secondary.emit(5, "Sent", burn("one", 5n));
  primary.views = { ...primary.views, lineOf: [5n, 0n] };
  await start().poll();
  assert.ok(kept.text?.includes(guidOf("one")));
  secondary.logs = [];
  const again = start();
  await again.poll();
  assert.equal(again.view()?.messages[0]?.stage, "sent");
  assert.equal(again.view()?.chains[0]?.addsUp, true);
});

test("a store that takes no more leaves the view as it is, and the operator is told", async () => {
  const { secondary, kept, alerts, start } = open();
  kept.isFull = true;
  secondary.emit(5, "Sent", burn("one", 5n));
  const follower = start();
  await follower.poll();
  assert.equal(follower.view()?.messages[0]?.stage, "sent");
  assert.match(alerts.join(), /could not be stored: Error: too large/);
});

test("a message behind many unverified ones is asked for in its turn", async () => {
  const { primary, secondary, start } = open();
  for (let index = 1; index <= 60; index += 1) secondary.emit(5, "Sent", burn(`m${index}`, 1n));
  primary.verifiedNonce = 60n;
  const follower = start();
  const stages = () => follower.view()?.messages.filter(({ stage }) => stage === "verified").length;
  for (let polls = 0; polls < 8; polls += 1) await follower.poll();
  assert.equal(stages(), 1);
  assert.equal(follower.view()?.messages.length, 60);
});

test("no message is looked up while a chain's books are read: a failed read ends its poll and nothing else", async () => {
  const { primary, secondary, start } = open();
  secondary.emit(5, "Sent", burn("one", 5n));
  const { totalSupply, ...others } = secondary.views;
  secondary.views = others;
  const follower = start();
  // A rejection of books that are read beside a look-up would have no handler, and end the process.
  await follower.poll();
  assert.ok(secondary.asked.includes("totalSupply"));
  assert.deepEqual([follower.view(), primary.asked.includes("inboundPayloadHash")], [null, false]);
  secondary.views = { ...others, totalSupply };
  await follower.poll();
  assert.deepEqual(primary.asked.slice(-2), ["endpoint", "inboundPayloadHash"]);
});

test("an arrival whose burn is read a moment later is no forgery; one that is never burned is, and alerts once", async () => {
  const { primary, secondary, alerts, start } = open();
  const follower = start();
  await follower.poll();
  primary.emit(18, "Delivered", arrival("late", 5n));
  await follower.poll();
  assert.equal(follower.view()?.chains[0]?.addsUp, true, "the last view stays");
  secondary.emit(19, "Sent", burn("late", 5n));
  await follower.poll();
  assert.deepEqual([follower.view()?.chains[0]?.addsUp, alerts], [true, []]);
  primary.emit(19, "Delivered", arrival("forged", 7n));
  for (let polls = 0; polls < 6; polls += 1) await follower.poll();
  assert.equal(follower.view()?.chains[0]?.addsUp, false);
  assert.equal(alerts.length, 1);
  assert.match(alerts[0] ?? "", /has arrived, and the chain with endpoint id 200 did not send it/);
});

test("dollars that are missing are seen: supply without a line, and a line without supply", async () => {
  for (const [supply, line] of [
    [5n, 0n],
    [0n, 5n],
  ]) {
    const { primary, secondary, start } = open();
    secondary.views = { ...secondary.views, totalSupply: supply };
    primary.views = { ...primary.views, lineOf: [line, 0n] };
    const follower = start();
    await follower.poll();
    assert.equal(follower.view()?.chains[0]?.addsUp, false);
  }
});

test("a reorg of final blocks makes it read all again; a node that is down leaves the last view and then alerts", async () => {
  const { primary, secondary, alerts, time, start } = open();
  const follower = start();
  secondary.emit(5, "Sent", burn("one", 5n));
  primary.views = { ...primary.views, lineOf: [5n, 0n] };
  await follower.poll();
  const before = follower.view();
  secondary.isDown = true;
  await follower.poll();
  time.now += 130_000;
  await follower.poll();
  assert.equal(follower.view(), before);
  assert.match(alerts[0] ?? "", /cannot be followed/);
  secondary.isDown = false;
  secondary.fork = "other";
  secondary.logs = [];
  secondary.emit(6, "Sent", burn("two", 5n));
  await follower.poll();
  assert.match(alerts[1] ?? "", /^chain 2: dollars are read again from the start: /);
  await follower.poll();
  assert.deepEqual(
    follower.view()?.messages.map(({ guid }) => guid),
    [guidOf("two")],
  );
});

test("a node of another chain is not read", async () => {
  const { secondary, alerts, start } = open();
  secondary.nodeChainId = 3;
  const follower = start();
  await follower.poll();
  assert.equal(follower.view(), null);
  assert.match(alerts[0] ?? "", /the node of chain 2 is one of chain 3/);
});

test("messages that ended a day ago are forgotten, open ones stay", async () => {
  const { primary, secondary, time, start } = open();
  secondary.emit(5, "Sent", burn("done", 5n));
  primary.emit(6, "Delivered", arrival("done", 5n));
  secondary.emit(7, "Sent", burn("open", 5n));
  primary.views = { ...primary.views, lineOf: [5n, 0n] };
  const follower = start();
  await follower.poll();
  const guids = () => follower.view()?.messages.map(({ guid }) => guid);
  assert.deepEqual(guids(), [guidOf("done"), guidOf("open")]);
  time.now += 25 * 3_600_000;
  await follower.poll();
  assert.deepEqual(guids(), [guidOf("open")]);
});
