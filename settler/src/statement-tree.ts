import type { Address } from "@inference/protocol/credential";
import { type Keccak, makeMerkleRoot } from "@inference/protocol/merkle-tree";
import type { NanoUsd } from "@inference/protocol/money";
import { makeLeafOf, type SettledUse, type Settlement } from "@inference/protocol/use-leaf";
import { bytesToHex, type Hex } from "viem";

/** The Merkle tree of one statement. Only its root is kept. */
export type StatementTree = {
  /** Uses in order, after those added before. */
  add(uses: readonly SettledUse[]): void;
  /** Throws if there are no uses. */
  root(): Hex;
};

/** A new tree of an account's statement. A use takes 3 to 50 us, by the hash function. */
export type MakeStatementTree = (account: Address, beforeNanoUsd: NanoUsd) => StatementTree;

export function statementTrees(settlement: Settlement, keccak: Keccak): MakeStatementTree {
  return (account, beforeNanoUsd) => {
    const leafOf = makeLeafOf(settlement, account, keccak);
    const tree = makeMerkleRoot(keccak);
    return {
      add(uses) {
        for (const use of uses) tree.add(leafOf(use, beforeNanoUsd));
      },
      root: () => bytesToHex(tree.root()),
    };
  };
}
