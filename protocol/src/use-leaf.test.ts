import assert from "node:assert/strict";
import { test } from "node:test";
import { SimpleMerkleTree, StandardMerkleTree } from "@openzeppelin/merkle-tree";
import type { Hex } from "viem";
import { LEAF_TYPES, leafOf, leafValues, type SettledUse, type Settlement, verifyUse } from "./use-leaf.ts";

const settlement: Settlement = { chainId: 31337, address: "0x00000000000000000000000000000000000005e7" };

test("OpenZeppelin's trees have these leaves, and their proofs verify, for batches of any size", () => {
  for (const size of [1, 2, 3, 5, 33]) {
    const uses = Array.from({ length: size }, (_, index) => useOf(index));
    const standard = StandardMerkleTree.of(
      uses.map((use) => [...leafValues(settlement, use)]),
      [...LEAF_TYPES],
    );
    const simple = SimpleMerkleTree.of(uses.map((use) => leafOf(settlement, use)));
    assert.equal(simple.root, standard.root);
    for (const [index, use] of uses.entries()) {
      const proof = standard.getProof(index) as Hex[];
      assert.deepEqual(simple.getProof(leafOf(settlement, use)), proof);
      assert.ok(verifyUse(standard.root as Hex, settlement, use, proof));
    }
  }
});

test("a proof is for one use, contract, chain and root, and for nothing else", () => {
  const uses = Array.from({ length: 7 }, (_, index) => useOf(index));
  const leaves = uses.map((use) => leafOf(settlement, use));
  const tree = SimpleMerkleTree.of(leaves);
  const [use, other] = uses as [SettledUse, SettledUse];
  const root = tree.root as Hex;
  const proof = tree.getProof(leaves[0] ?? "") as Hex[];
  const agent = { token: useOf(1).account, offerHash: `0x${"5".repeat(64)}` } as const;
  assert.ok(verifyUse(root, settlement, use, proof));
  assert.ok(verifyUse(root.toUpperCase().replace("0X", "0x") as Hex, settlement, use, proof));
  const wrong: SettledUse[] = [
    other,
    { ...use, batch: use.batch + 1 },
    { ...use, account: other.account },
    { ...use, receipt: other.receipt },
    { ...use, costNanoUsd: use.costNanoUsd + 1 },
    { ...use, dayServed: use.dayServed - 1 },
    { ...use, agent },
    { ...use, agent: { ...agent, token: "0x0000000000000000000000000000000000000000" } },
  ];
  for (const each of wrong) assert.equal(verifyUse(root, settlement, each, proof), false);
  assert.equal(verifyUse(root, { ...settlement, chainId: 1 }, use, proof), false);
  assert.equal(verifyUse(root, { ...settlement, address: use.account }, use, proof), false);
  assert.equal(verifyUse(leaves[1] ?? "0x", settlement, use, proof), false);
  assert.equal(verifyUse(root, settlement, use, proof.slice(1)), false);
  assert.equal(verifyUse(root, settlement, use, [...proof, root]), false);
});

test("what is no list of nodes proves nothing, and does not throw", () => {
  const use = useOf(0);
  const root = leafOf(settlement, use);
  assert.ok(verifyUse(root, settlement, use, []));
  for (const node of ["0x", "0x12", "text", `0x${"g".repeat(64)}`, `0x${"1".repeat(66)}`] as Hex[]) {
    assert.equal(verifyUse(root, settlement, use, [node]), false);
  }
});

function useOf(index: number): SettledUse {
  return {
    batch: 7,
    account: `0x${String(index + 1).padStart(40, "0")}`,
    receipt: `req_${String(index).padStart(26, "0")}`,
    costNanoUsd: 1_000 * index,
    dayServed: 20_000,
  };
}
