import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { type Anvil, startAnvil } from "./testing/anvil.ts";
import { NODE_FAILURES, shareLiar } from "./testing/liar.ts";
import { deploySettlement } from "./testing/settlement.ts";
import { alice, bob, readerOf } from "./testing/watch.ts";

let chain: Anvil;
/** Settlement contracts: one without agents, one whose pool and registry are `contract`. */
let bare: Address;
let whole: Address;
before(async () => {
  chain = await startAnvil();
  bare = await deploySettlement(chain.rpcUrl);
  whole = await deploySettlement(chain.rpcUrl, { pool: contract, registry: contract });
});
after(() => chain?.stop());
const node = shareLiar(() => chain.rpcUrl);

const token: Address = "0x00000000000000000000000000000000000a9e47";
const contract: Address = "0x0000000000000000000000000000000000c0de01";
const word = (value: string) => value.replace("0x", "").padStart(64, "0");
const isUnavailable = ChainUnavailable;

const reader = (settlement = bare, contracts = {}) => readerOf(node.url, settlement, contracts);
const setCode = (address: Address, code: string) => chain.rpc("anvil_setCode", [address, `0x${code}`]);

/** A contract that answers everything with one word. */
const answering = (value: string) => `7f${word(value)}5f5260205ff3`;
/** About the largest answer that the gas of a call pays for: 256 KiB. */
const MUCH = "62040000";
const strange: Record<string, string> = {
  "no contract": "",
  "a contract that reverts": "5f5ffd",
  "a contract that reverts with as much as its gas pays for": `${MUCH}5ffd`,
  "a contract that never ends": "5b5f56",
  "a contract that asks itself again and again": "5f5f5f5f5f305af1",
  "an invalid instruction": "fe",
  "a contract that answers nothing": "00",
  "20 bytes": "60145ff3",
  "two words": "60405ff3",
  "as much as its gas pays for": `${MUCH}5ff3`,
  "a megabyte": "621000005ff3",
  nobody: answering("0"),
  "an address with something before it": answering(`01${bob.slice(2).padStart(62, "0")}`),
  "a word of ones": answering("f".repeat(64)),
};

test("the owner is the answer of any contract, known to a registry or not", async () => {
  await setCode(token, answering(bob));
  // It denies everything.
  await setCode(contract, answering("0"));
  for (const settlement of [bare, whole]) {
    node.asked = [];
    assert.equal(await reader(settlement).agentOwner(token), bob);
    assert.deepEqual(node.asked, ["eth_call"]);
  }
});

test("the owner is the contract's latest answer, also if it changed a block ago", async () => {
  // The number of the block.
  await setCode(token, "435f5260205ff3");
  const first = await reader().agentOwner(token);
  await chain.rpc("anvil_mine", ["0x1"]);
  const second = await reader().agentOwner(token);
  assert.equal(BigInt(second ?? 0), BigInt(first ?? 0) + 1n);
});

for (const [name, code] of Object.entries(strange)) {
  test(`${name} is no owner`, async () => {
    await setCode(token, code);
    assert.equal(await reader().agentOwner(token), null);
  });
}

test("an answer without end of the node's is read up to a limit, and is none", async () => {
  await setCode(token, answering(bob));
  let sent = 0;
  node.lie = () => (response) => {
    const chunk = Buffer.alloc(64 * 1024, "0");
    const more = (): void => {
      if (response.destroyed) return;
      sent += chunk.length;
      response.write(chunk, more);
    };
    more();
  };
  await assert.rejects(reader().agentOwner(token), isUnavailable);
  assert.ok(sent < 32 << 20, `${sent} bytes`);
});

const capacityOf = async (settlement: Address) => (await reader(settlement).capacityToday(alice)).capacityNanoUsd;

test("capacity is the pool's answer, at most the largest amount, and zero without a pool", async () => {
  assert.equal(await capacityOf(bare), 0);
  await setCode(contract, answering((7_000_000_000).toString(16)));
  assert.equal(await capacityOf(whole), 7_000_000_000);
  await setCode(contract, answering("f".repeat(64)));
  assert.equal(await capacityOf(whole), 9_000_000_000_000_000);
});

test("capacity belongs to the block whose time it names, independent of the clock", async () => {
  // Answers the time that the contract itself sees, in seconds.
  await setCode(contract, "425f5260205ff3");
  for (const later of [1, 86_400]) {
    await chain.rpc("evm_increaseTime", [later]);
    await chain.rpc("anvil_mine", ["0x1"]);
    const { capacityNanoUsd: seen, at } = await reader(whole).capacityToday(alice);
    assert.equal(at, seen * 1_000);
  }
  // A day goes by between the two questions.
  node.lie = async ({ method }, honest) => {
    const answer = await honest();
    if (method === "eth_getBlockByNumber") {
      await chain.rpc("evm_increaseTime", [86_400]);
      await chain.rpc("anvil_mine", ["0x1"]);
    }
    return answer;
  };
  const { capacityNanoUsd: seen, at } = await reader(whole).capacityToday(alice);
  assert.equal(at, seen * 1_000);
});

test("a pool that does not answer is no capacity of zero", async () => {
  for (const code of ["", "5f5ffd", "60405ff3"]) {
    await setCode(contract, code);
    await assert.rejects(reader(whole).capacityToday(alice), isUnavailable);
  }
});

test("the pool is asked for once, and where there is no settlement contract no capacity is known", async () => {
  await setCode(contract, answering("1"));
  const asking = reader(whole);
  for (const calls of [2, 1]) {
    node.asked = [];
    await asking.capacityToday(bob);
    assert.equal(node.asked.filter((method) => method === "eth_call").length, calls);
  }
  for (const code of ["", answering("f".repeat(64)), "5f5ffd", "5b5f56"]) {
    await setCode(alice, code);
    await assert.rejects(reader(alice).capacityToday(bob), isUnavailable, code);
  }
});

test("pending activations are the watcher's", () => {
  assert.deepEqual(reader().pendingActivations(alice), [{ amountNanoUsd: 1, block: 2, transaction: "0x3" }]);
  assert.deepEqual(reader().pendingActivations(bob), []);
  assert.deepEqual(reader().following(), { state: "following", block: 7, lagBlocks: 0 });
});

for (const [name, lie] of Object.entries({ ...NODE_FAILURES, null: () => ({ result: null }) })) {
  test(`${name} tells neither owner nor capacity`, async () => {
    await setCode(token, answering(bob));
    await setCode(contract, answering("1"));
    node.lie = lie;
    await Promise.all([
      assert.rejects(reader().agentOwner(token), isUnavailable),
      assert.rejects(reader(whole).agentOwner(token), isUnavailable),
      assert.rejects(reader(whole).capacityToday(alice), isUnavailable),
    ]);
  });
}
