import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import {
  type Abi,
  custom,
  decodeFunctionData,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
  numberToHex,
} from "viem";
import { connect } from "../connection.ts";
import { isCovered } from "./check-books.ts";
import { collectBooks } from "./collect-books.ts";
import type { ReadSecondary } from "./evidence.ts";

/**
 * A gateway that names wrong contracts or a wrong first block. Two nodes have a secondary chain with 100 tokens and no
 * cover: the flushed dollars were booked in block 10, and spent.
 */
const address = (digit: string): Hex => `0x${digit.repeat(40)}`;
const SETTLEMENT = address("1");
const MINTER = address("2");
const DOLLAR = address("3");
const BRIDGE = address("4");
const ENDPOINT = address("5");
const TOKEN = address("6");
const OUTBOX = address("7");
const FALSE = address("f");
const CREATED = 5n;
const FINAL = 100n;

test("the events of the minter are read from its creation on, whatever first block the gateway names", async () => {
  for (const startBlock of [0, 5, 6, 11, 100, 1_000]) {
    const { primary, secondary } = await booksOf({ startBlock });
    deepEqual([startBlock, secondary.bookedToken, isCovered(secondary)], [startBlock, "100", false]);
    equal(primary.firstBlockBy, "the client");
  }
});

test("without old state at the node, the gateway is named for the first block", async () => {
  const { primary, secondary } = await booksOf({ startBlock: 11, isArchive: false });
  deepEqual([primary.firstBlockBy, secondary.bookedToken], ["the gateway", "0"]);
  equal((await booksOf({ startBlock: 0, isArchive: false })).primary.firstBlockBy, "the client");
});

test("all contracts are read on chain, from the settlement contract on, whatever addresses the gateway names", async () => {
  const { primary, secondary } = await booksOf({ named: FALSE });
  deepEqual([secondary.supplyToken, secondary.flushedToken, secondary.bookedToken], ["100", "100", "100"]);
  equal(primary.dollarsToken, "7");
});

test("a chain with another LayerZero id than the gateway says is refused", async () => {
  match(JSON.stringify(await booksOf({ eidThere: 23 })), /its LayerZero endpoint id is 23/);
});

test("a line counts once, also if the gateway names its chain twice", async () => {
  const { primary } = await booksOf({ isTwice: true });
  equal(primary.listedLinesNanoUsd, "40000");
});

type World = { startBlock?: number; isArchive?: boolean; named?: Hex; eidThere?: number; isTwice?: boolean };

async function booksOf({ startBlock = 0, isArchive = true, named, eidThere = 22, isTwice = false }: World) {
  const secondary = {
    ...{ chain_id: 2, name: "two", role: "secondary", layerzero_eid: 22, rpc_url: null, start_block: 0 },
    contracts: { inferenceToken: named ?? TOKEN, tokenBackingOutbox: named ?? OUTBOX, stablecoin: named ?? DOLLAR },
  };
  const chains = [
    {
      ...{ chain_id: 1, name: "one", role: "primary", layerzero_eid: 11, rpc_url: null, start_block: startBlock },
      contracts: { inferenceSettlement: SETTLEMENT, tokenMinter: named ?? MINTER, stablecoin: named ?? DOLLAR },
    },
    ...(isTwice ? [secondary, secondary] : [secondary]),
  ];
  const connection = connect({
    gateway: "https://gateway.example",
    fetch: async () => Response.json({ data: { chains } }),
    chains: {
      1: { transport: nodeOf(1, onPrimary, isArchive), contracts: { inferenceSettlement: SETTLEMENT } },
      2: { transport: nodeOf(2, { ...onSecondary, [ENDPOINT]: { eid: eidThere } }, isArchive) },
    },
    pollMs: 1,
  });
  const { primary, secondaries } = await collectBooks(connection);
  return { primary, secondary: secondaries[0] as ReadSecondary };
}

/** The results of the contracts' functions, by address. */
type Contracts = Record<Hex, Record<string, unknown>>;

const onPrimary: Contracts = {
  [SETTLEMENT]: { MINTER, BRIDGE, books: { backing: 0n, supply: 0n, credit: 0n, owed: 0n, lines: 0n } },
  [MINTER]: { STABLECOIN: DOLLAR, SCALE: 1n, lineOf: [40n, 40n] },
  [BRIDGE]: { peers: `0x${BRIDGE.slice(2).padStart(64, "0")}` },
  [DOLLAR]: { balanceOf: 7n },
};
const onSecondary: Contracts = {
  [BRIDGE]: { TOKEN, endpoint: ENDPOINT },
  [TOKEN]: { MINTER, totalSupply: 100n },
  [MINTER]: { OUTBOX },
  [OUTBOX]: { STABLECOIN: DOLLAR, SCALE: 1n, pending: 0n, flushed: 100n },
  [DOLLAR]: { balanceOf: 0n },
};
const eidAbi = [
  { type: "function", name: "eid", inputs: [], outputs: [{ name: "", type: "uint32" }], stateMutability: "view" },
] as const;
const abi: Abi = [
  ...[...inferenceSettlementAbi, ...tokenMinterAbi, ...tokenBridgeAbi, ...inferenceTokenAbi],
  ...[...tokenBackingOutboxAbi, ...eidAbi],
].filter(({ type }) => type === "function");

function nodeOf(chainId: number, contracts: Contracts, isArchive: boolean) {
  // biome-ignore lint/suspicious/noExplicitAny: parameters of any method
  async function request({ method, params }: { method: string; params?: any }): Promise<unknown> {
    const [one, block] = params ?? [];
    switch (method) {
      case "eth_chainId":
        return numberToHex(chainId);
      case "eth_getBlockByNumber":
        return { number: numberToHex(FINAL), timestamp: "0x1", transactions: [] };
      case "eth_getCode":
        if (!isArchive) throw Object.assign(new Error("missing trie node"), { code: -32_000 });
        return BigInt(block) >= CREATED ? "0x60" : "0x";
      case "eth_call": {
        const { functionName } = decodeFunctionData({ abi, data: one.data });
        const result = contracts[one.to as Hex]?.[functionName];
        if (result === undefined) throw Object.assign(new Error(`no ${functionName} at ${one.to}`), { code: 3 });
        return encodeFunctionResult({ abi, functionName, result });
      }
      case "eth_getLogs":
        return BigInt(one.fromBlock) <= 10n && one.address === MINTER ? [booked] : [];
    }
    throw Object.assign(new Error(`no ${method}`), { code: -32_601 });
  }
  return custom({ request }, { retryCount: 0 });
}

/** 100 tokens' worth of the secondary chain's dollars, in block 10. */
const booked = {
  ...{ address: MINTER, topics: encodeEventTopics({ abi: tokenMinterAbi, eventName: "Booked", args: { eid: 22 } }) },
  data: `0x${[100, 100, 100].map((amount) => amount.toString(16).padStart(64, "0")).join("")}`,
  ...{ blockNumber: "0xa", blockHash: `0x${"a".repeat(64)}`, transactionHash: `0x${"b".repeat(64)}` },
  ...{ transactionIndex: "0x0", logIndex: "0x0", removed: false },
};
