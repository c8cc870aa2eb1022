import assert from "node:assert/strict";
import { test } from "node:test";
import { chainPartition } from "@inference/ledger/partition";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { encodeFunctionData } from "viem";
import { createBooksCheck } from "./books-check.ts";
import { RpcError } from "./rpc.ts";

/** Whether books are current, where the node is behind the chain. */
const settlement = "0x5555555555555555555555555555555555555555";
const NOW = Date.UTC(2027, 5, 15, 12);
const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
const batchCount = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "batchCount" });

/** A node's latest block, and the batches that the contract counts there. */
type Head = { number: number; at: number; batches: number };

/** The books of a gateway that has read the chain up to block 100, without a batch. */
function open(head: Head) {
  const asked: string[] = [];
  const client = {
    async request(method: string, params: readonly unknown[]): Promise<unknown> {
      asked.push(method);
      if (method === "eth_getBlockByNumber") {
        const numbers = { number: `0x${head.number.toString(16)}`, timestamp: `0x${(head.at / 1_000).toString(16)}` };
        return { ...numbers, hash: word(7) };
      }
      const [call] = params as [{ data?: string }];
      if (method !== "eth_call") throw new RpcError(-32_601, "no such method");
      if (call.data === batchCount) return word(head.batches);
      return word(9);
    },
  };
  const ledger = openMemoryHost({ now: () => NOW });
  const nothing = { activations: [], batches: [], credits: [] };
  ledger.apply(chainPartition(1), { type: "advance", at: NOW, chainId: 1, block: 100, blockHash: "hash", ...nothing });
  const books = createBooksCheck({ client, chainId: 1, settlement, ledger, now: () => NOW, onAlert: () => {} });
  return { head, asked, look: async () => (await books.look()).state };
}

test("a node that is behind the blocks that were read does not show that the books are current", async () => {
  const { head, look } = open({ number: 50, at: NOW, batches: 0 });
  assert.equal(await look(), "unknown");
  head.number = 101;
  assert.equal(await look(), "current");
});

test("books that an old block shows as current are found to be behind when the node has caught up", async () => {
  const { head, look } = open({ number: 150, at: NOW - 86_400_000, batches: 0 });
  await look();
  Object.assign(head, { number: 7_350, at: NOW - 12_000, batches: 1 });
  assert.equal(await look(), "behind");
});

test("books that a recent block shows as current are not asked about again", async () => {
  const { asked, look } = open({ number: 150, at: NOW - 12_000, batches: 0 });
  await look();
  const before = asked.length;
  assert.equal(await look(), "current");
  assert.equal(asked.length, before);
});
