import { keccak256 } from "viem";

/** Keccak-256. The result is a new array. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

/** Runs everywhere. Node has a faster one: `keccak-wasm.ts`. */
export const pureKeccak: Keccak = (bytes) => keccak256(bytes, "bytes");

/**
 * A Merkle tree over leaves in their order. Each level hashes the pairs (0, 1), (2, 3) and so on; an odd last node
 * moves up unchanged. Pairs are sorted, so OpenZeppelin's `MerkleProof` takes the proofs. Statements and chunks have
 * such trees.
 */
export type MerkleRoot = {
  add(leaf: Uint8Array): void;
  /** The root of the leaves so far; more can follow. Throws if there are none. */
  root(): Uint8Array;
};

/** Makes the root of any number of leaves in constant memory: it keeps the roots of the complete subtrees alone. */
export function makeMerkleRoot(keccak: Keccak): MerkleRoot {
  const parent = makeParent(keccak);
  /** The node at index n is the root of 2^n leaves. */
  const peaks: (Uint8Array | undefined)[] = [];
  return {
    add(leaf) {
      let node = leaf;
      let level = 0;
      for (let peak = peaks[0]; peak !== undefined; peak = peaks[level]) {
        node = parent(peak, node);
        peaks[level++] = undefined;
      }
      peaks[level] = node;
    },
    root() {
      let root: Uint8Array | undefined;
      for (const peak of peaks) if (peak !== undefined) root = root === undefined ? peak : parent(peak, root);
      if (root === undefined) throw new RangeError("a tree without leaves has no root");
      return root;
    },
  };
}

export function merkleRootOf(leaves: Iterable<Uint8Array>, keccak: Keccak): Uint8Array {
  const tree = makeMerkleRoot(keccak);
  for (const leaf of leaves) tree.add(leaf);
  return tree.root();
}

/** Keeps all nodes, for the proofs of many leaves. A proof is a leaf's sibling at each level, from the leaf up. */
export function merkleTree(leaves: readonly Uint8Array[], keccak: Keccak) {
  const parent = makeParent(keccak);
  const levels = [leaves];
  for (let level = leaves; level.length > 1; levels.push(level)) {
    const below = level;
    level = Array.from({ length: Math.ceil(below.length / 2) }, (_, index) => {
      const [one, other] = below.slice(2 * index, 2 * index + 2) as [Uint8Array, Uint8Array?];
      return other === undefined ? one : parent(one, other);
    });
  }
  return {
    /** Undefined if there are no leaves. */
    root: levels.at(-1)?.[0],
    proofOf(index: number): Uint8Array[] {
      if (leaves[index] === undefined) throw new RangeError(`the tree of ${leaves.length} leaves has no leaf ${index}`);
      return levels.flatMap((level, height) => level[(index >> height) ^ 1] ?? []);
    },
  };
}

/** Whether the proof leads from the leaf to the root. A node that has not 32 bytes proves nothing. */
export function verifyProof(
  root: Uint8Array,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
  keccak: Keccak = pureKeccak,
): boolean {
  if (![leaf, ...proof].every(({ length }) => length === 32)) return false;
  return compare(proof.reduce(makeParent(keccak), leaf), root) === 0;
}

/** The inner node above two nodes. */
function makeParent(keccak: Keccak) {
  const pair = new Uint8Array(64);
  return (one: Uint8Array, other: Uint8Array): Uint8Array => {
    const isSorted = compare(one, other) <= 0;
    pair.set(isSorted ? one : other, 0);
    pair.set(isSorted ? other : one, 32);
    return keccak(pair);
  };
}

function compare(one: Uint8Array, other: Uint8Array): number {
  if (one.length !== other.length) return one.length - other.length;
  for (let at = 0; at < one.length; at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
