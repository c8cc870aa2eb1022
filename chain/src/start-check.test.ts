import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChainClient, ChainUnavailable } from "./rpc.ts";
import { startContradiction } from "./start-check.ts";

const settlement = "0x00000000000000000000000000000000000000aa";
const node = (answers: Record<string, unknown>): ChainClient => ({
  async request(method) {
    const answer = answers[method];
    if (answer instanceof Error) throw answer;
    return answer;
  },
});
const check = (answers: Record<string, unknown>) => startContradiction(node(answers), { chainId: 31337, settlement });

test("a node of another chain, and an address without a contract, are told at the start, by the setting's name", async () => {
  assert.match((await check({ eth_chainId: "0x1" })) ?? "", /PRIMARY_CHAIN_ID is 31337.* is on 1/);
  assert.match((await check({ eth_chainId: "0x7a69", eth_getCode: "0x" })) ?? "", /SETTLEMENT_ADDRESS/);
});

test("a node that agrees, or cannot be asked, contradicts nothing", async () => {
  assert.equal(await check({ eth_chainId: "0x7a69", eth_getCode: "0x60" }), undefined);
  assert.equal(await check({ eth_chainId: new ChainUnavailable("down") }), undefined);
});
