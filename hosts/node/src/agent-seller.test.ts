import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type PoolChain, startPoolChain } from "./testing/pool-chain.ts";

/** The real registry decides who may sell an agent's capacity. */
let chain: PoolChain;
before(async () => {
  chain = await startPoolChain();
});
after(() => chain?.[Symbol.asyncDispose]());

const computer = privateKeyToAccount(generatePrivateKey());
const other: Address = "0x00000000000000000000000000000000000000e1";
const sellerOf = async (agent: Address) => {
  const seller = await chain.chain.agentSeller(agent);
  return seller && [lowerAddress(seller.owner), seller.computer && lowerAddress(seller.computer)];
};

test("an agent of the registry has its owner and its computer, until either is another", async () => {
  const { address: owner } = chain.deployer;
  const agent = await chain.makeAgent(owner);
  assert.deepEqual(await sellerOf(agent), [lowerAddress(owner), null]);
  await chain.setComputer(agent, computer);
  assert.deepEqual(await sellerOf(agent), [lowerAddress(owner), lowerAddress(computer.address)]);
  const next = privateKeyToAccount(generatePrivateKey());
  await chain.setComputer(agent, next);
  assert.deepEqual(await sellerOf(agent), [lowerAddress(owner), lowerAddress(next.address)]);
  await chain.giveAgent(agent, other);
  assert.deepEqual(await sellerOf(agent), [other, null], "the computer was the seller's");
});

test("a contract that the registry did not create cannot sell", async () => {
  const { address: owner } = chain.deployer;
  const contracts = ["5f5ffd", "00", `7f${owner.slice(2).toLowerCase().padStart(64, "0")}5f5260205ff3`];
  assert.equal(await sellerOf(await chain.makeLookalike(owner)), null);
  for (const code of contracts) assert.equal(await sellerOf(await chain.makeContract(code)), null, code);
  assert.equal(await sellerOf(other), null);
});

test("a node that does not answer proves no seller", async () => {
  const agent = await chain.makeAgent(chain.deployer.address);
  for (const how of ["refusing", "silent"] as const) {
    chain.fail(how);
    await assert.rejects(chain.chain.agentSeller(agent), ChainUnavailable);
    chain.fail(null);
  }
});
