import type { Hex } from "viem";
import { leafOf, parentOf, type SettledUse, type Settlement } from "./use-leaf.ts";

/** The Merkle tree of a batch's uses, the same as `SimpleMerkleTree` of `@openzeppelin/merkle-tree` makes. */
export type UseTree = {
  root: Hex;
  /** What `verifyUse`, and the contract's `verify`, take to prove a use of the batch. Throws for any other use. */
  proofOf(use: SettledUse): Hex[];
};

/** @param uses At least one. Their order does not change the tree. */
export function useTree(settlement: Settlement, uses: readonly SettledUse[]): UseTree {
  const work = useTreeInPieces(settlement, uses);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Hashes between two pieces of the work: a third of a millisecond. */
const HASHES_AT_ONCE = 8;

/** Makes the tree of `useTree`, and yields after every few hashes. */
export function* useTreeInPieces(settlement: Settlement, uses: readonly SettledUse[]): Generator<void, UseTree> {
  const leaves: Hex[] = [];
  for (const use of uses) {
    leaves.push(leafOf(settlement, use));
    if (leaves.length % HASHES_AT_ONCE === 0) yield;
  }
  leaves.sort();
  // The root is first, the children of node n are 2n + 1 and 2n + 2, and the leaves are last, in descending order.
  const nodes = [...new Array<Hex>(leaves.length - 1), ...leaves.reverse()];
  for (let at = leaves.length - 2; at >= 0; at--) {
    nodes[at] = parentOf(nodes[2 * at + 1] as Hex, nodes[2 * at + 2] as Hex);
    if (at % HASHES_AT_ONCE === 0) yield;
  }

  return {
    root: nodes[0] ?? "0x",
    proofOf(use) {
      const proof: Hex[] = [];
      let at = nodes.indexOf(leafOf(settlement, use), leaves.length - 1);
      if (at === -1) throw new TypeError(`the batch does not have the use ${use.receipt}`);
      for (; at > 0; at = (at - 1) >> 1) proof.push(nodes[at % 2 === 0 ? at - 1 : at + 1] ?? "0x");
      return proof;
    },
  };
}
