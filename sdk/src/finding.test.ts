import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { type AbiParameter, encodeAbiParameters, encodeEventTopics, type Transport, zeroAddress } from "viem";
import { untilCredited } from "./activate.ts";
import { untilArrived } from "./arrival.ts";
import { type Account, type AskedTransaction, activate, type Progress, resume } from "./index.ts";
import {
  connectionTo,
  contracts,
  logOf,
  quietNode,
  receiptOf,
  scriptedNode,
  signer,
  word,
} from "./testing/scripted-node.ts";
import { findAsked } from "./wallet-transaction.ts";

/** Finding what was sent long ago, with nodes that refuse long ranges and a gateway that has forgotten it. */
const DOLLAR = 1_000_000n;
const hash = `0x${"b".repeat(64)}` as const;
const guid = `0x${"c".repeat(64)}` as const;

test("after an abort the wallet is not asked", async () => {
  const ending = new AbortController();
  const told: string[] = [];
  const asked: string[] = [];
  const account: Account = {
    ...{
      type: "wallet",
      address: signer.address,
      signMessage: signer.signMessage,
      signTypedData: signer.signTypedData,
    },
    sendTransaction: async ({ data }) => {
      asked.push(data);
      return hash;
    },
  };
  const stopping = scriptedNode(1, (method) => {
    if (method === "eth_estimateGas") ending.abort();
    return undefined;
  });
  const connection = connectionTo(stopping, quietNode(2), { account });
  const onProgress = ({ stage }: Progress) => void told.push(stage);
  await rejects(activate(connection, { amountToken: DOLLAR, onProgress, signal: ending.signal }), {
    name: "AbortError",
  });
  deepEqual([asked, told], [[], []]);
});

/** Refuses long ranges, as public nodes do. */
function shortRanges(chainId: number, logs: readonly { blockNumber: string; topics: readonly unknown[] }[]): Transport {
  const answer = (method: string, [filter]: readonly unknown[]): unknown => {
    if (method !== "eth_getLogs") return undefined;
    const { fromBlock, toBlock, topics } = filter as { fromBlock: string; toBlock: string; topics: unknown[] };
    const [from, to] = [Number(fromBlock), Number(toBlock)];
    if (!(to - from < 1_000)) throw Object.assign(new Error("query exceeds max block range 1000"), { code: -32_005 });
    return logs.filter((log) => {
      return Number(log.blockNumber) >= from && Number(log.blockNumber) <= to && log.topics[0] === topics[0];
    });
  };
  return scriptedNode(chainId, answer, 50_000);
}

const minted = logOf(contracts.inferenceToken, {
  topics: encodeEventTopics({
    ...{ abi: inferenceTokenAbi, eventName: "Transfer", args: { from: zeroAddress, to: signer.address } },
  }),
  ...{ data: word(DOLLAR), hash, block: 45_000 },
}) as { blockNumber: string; topics: readonly unknown[] };

test("a payment is found after a long wait with a node that refuses long ranges", async () => {
  const asked = {
    step: "mint",
    ...{ chainId: 1, fromBlock: 1 },
    moves: { from: zeroAddress, to: signer.address, amountToken: String(DOLLAR) },
  } as const;
  equal(await findAsked(connectionTo(shortRanges(1, [minted]), quietNode(2)), asked), hash);
  equal(await findAsked(connectionTo(shortRanges(1, []), quietNode(2)), asked), null);
  const found = scriptedFound();
  equal((await resume(connectionTo(found, quietNode(2)), asked)).hash, hash);
});

test("an approval that its owner raised in the wallet is found, and no smaller one", async () => {
  const { inferenceToken: spender, stablecoin: dollar } = contracts;
  const approved = logOf(dollar, {
    topics: encodeEventTopics({
      ...{ abi: stablecoinAbi, eventName: "Approval", args: { owner: signer.address, spender } },
    }),
    ...{ data: word(5n * DOLLAR), hash, block: 45_000 },
  }) as { blockNumber: string; topics: readonly unknown[] };
  const askedFor = (amountDollar: bigint): AskedTransaction => ({
    ...{ step: "approve", chainId: 1, fromBlock: 1, moves: null },
    allows: { dollar, spender, amountDollar: String(amountDollar) },
  });
  const connection = connectionTo(shortRanges(1, [approved]), quietNode(2));
  equal(await findAsked(connection, askedFor(DOLLAR)), hash);
  equal(await findAsked(connection, askedFor(6n * DOLLAR)), null);
});

/** As `shortRanges`, and it has the transaction's receipt too. */
function scriptedFound(): Transport {
  const searched = shortRanges(1, [minted])({});
  return scriptedNode(1, (method, params) => {
    if (method === "eth_getTransactionReceipt") return receiptOf(hash, { logs: [minted] });
    return method === "eth_getLogs" || method === "eth_blockNumber" ? searched.request({ method, params }) : undefined;
  });
}

const message = { kind: 1, from: signer.address, to: signer.address, amount: DOLLAR };
const bridgeEvent = (eventName: "Sent" | "Delivered", eid: string, block: number) =>
  logOf(contracts.tokenBridge, {
    topics: encodeEventTopics({
      ...{ abi: tokenBridgeAbi, eventName, args: { guid, [eid]: 11 } },
    } as Parameters<typeof encodeEventTopics>[0]),
    ...{ data: bridgeData(eventName), hash, block },
  }) as { blockNumber: string; topics: readonly unknown[] };

function bridgeData(eventName: "Sent" | "Delivered"): `0x${string}` {
  const [event] = tokenBridgeAbi.filter((each) => each.type === "event" && each.name === eventName);
  const inputs = (event?.inputs ?? []) as readonly (AbiParameter & { indexed?: boolean })[];
  const told = inputs.filter(({ indexed }) => indexed !== true);
  return encodeAbiParameters(
    told,
    told.map(({ name }) => (name === "message" ? message : 11)),
  );
}

const activations = { data: { activations: [], unknown_chain_ids: [] } };
const origin = scriptedNode(2, (method) =>
  method === "eth_getTransactionReceipt" ? receiptOf(hash, { logs: [bridgeEvent("Sent", "dstEid", 5)] }) : undefined,
);

test("an activation from a secondary chain that the gateway has deleted is credited once its delivery is read", async () => {
  const told: string[] = [];
  const status = { data: { following: { block: 44_999 } } };
  const answers = { "/api/v1/status": status, [`/api/v1/activations/${`0x${"9".repeat(40)}`}`]: activations };
  const primary = shortRanges(1, [bridgeEvent("Delivered", "srcEid", 45_000)]);
  const connection = connectionTo(primary, origin, { answers });
  const onProgress = (progress: Progress): void => {
    told.push(progress.stage);
    if (progress.stage === "waiting") setTimeout(() => (status.data.following.block = 45_000), 50);
  };
  const signal = AbortSignal.timeout(5_000);
  await untilCredited(connection, { chainId: 2, hash, step: "activateFrom" }, { onProgress, signal });
  deepEqual([told, status.data.following.block], [["final", "waiting", "credited"], 45_000]);
});

test("bridged tokens are found with a node that refuses long ranges", async () => {
  const primary = shortRanges(1, [bridgeEvent("Delivered", "srcEid", 45_000)]);
  const arrived = untilArrived(connectionTo(primary, origin), { fromChainId: 2, toChainId: 1, hash });
  equal((await arrived).hash, hash);
});
