import assert from "node:assert/strict";
import { test } from "node:test";
import { SimpleMerkleTree } from "@openzeppelin/merkle-tree";
import { leafOf, type SettledUse, type Settlement, verifyUse } from "./use-leaf.ts";
import { useTree } from "./use-tree.ts";

const settlement: Settlement = { chainId: 31337, address: "0x00000000000000000000000000000000000005e7" };

test("roots and proofs are those of OpenZeppelin's tree, for batches of any size and order", () => {
  for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100]) {
    const uses = Array.from({ length: size }, (_, index) => useOf(index));
    const theirs = SimpleMerkleTree.of(uses.map((use) => leafOf(settlement, use)));
    const ours = useTree(settlement, uses);
    assert.equal(ours.root, theirs.root);
    assert.equal(useTree(settlement, uses.toReversed()).root, theirs.root);
    for (const use of uses) {
      assert.deepEqual(ours.proofOf(use), theirs.getProof(leafOf(settlement, use)));
      assert.ok(verifyUse(ours.root, settlement, use, ours.proofOf(use)));
    }
  }
});

test("a use that is not in the batch has no proof", () => {
  const tree = useTree(settlement, [useOf(0), useOf(1), useOf(2)]);
  assert.throws(() => tree.proofOf(useOf(3)), /does not have the use req_0*3$/);
  assert.throws(() => tree.proofOf({ ...useOf(1), costNanoUsd: 5 }));
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
