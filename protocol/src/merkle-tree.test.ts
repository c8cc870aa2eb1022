import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SimpleMerkleTree } from "@openzeppelin/merkle-tree";
import fc from "fast-check";
import { bytesToHex } from "viem";
import { makeKeccak } from "./keccak-wasm.ts";
import { makeMerkleRoot, merkleRootOf, merkleTree, pureKeccak, verifyProof } from "./merkle-tree.ts";
import { runs } from "./testing/seed.ts";

const keccak = await makeKeccak();
const leafLists = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { minLength: 1, maxLength: 70 });

test("the fast hash is compiled here, and is the pure one's", () => {
  assert.notEqual(keccak, pureKeccak);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      assert.deepEqual(keccak(bytes), pureKeccak(bytes));
    }),
  );
});

test("where WebAssembly cannot be compiled, the pure hash serves", async () => {
  const refuse = () => Promise.reject(new WebAssembly.CompileError("refused"));
  assert.equal(await makeKeccak(refuse), pureKeccak);
});

test("the streamed root is that of the tree level by level, and OpenZeppelin verifies every proof", () => {
  fc.assert(
    fc.property(leafLists, (leaves) => {
      const root = merkleRootOf(leaves, keccak);
      assert.deepEqual(root, rootByLevels(leaves));
      for (const [index, leaf] of leaves.entries()) {
        const proof = merkleTree(leaves, keccak).proofOf(index);
        assert.ok(verifyProof(root, leaf, proof));
        assert.ok(
          SimpleMerkleTree.verify(
            bytesToHex(root),
            bytesToHex(leaf),
            proof.map((node) => bytesToHex(node)),
          ),
        );
      }
    }),
    { numRuns: runs(40) },
  );
});

test("a root can be read between leaves", () => {
  const leaves = Array.from({ length: 33 }, (_, index) => leafAt(index));
  const tree = makeMerkleRoot(keccak);
  for (const [index, leaf] of leaves.entries()) {
    tree.add(leaf);
    assert.deepEqual(tree.root(), rootByLevels(leaves.slice(0, index + 1)));
  }
});

test("the order of the leaves counts: two of different pairs that change places change the root", () => {
  const leaves = Array.from({ length: 9 }, (_, index) => leafAt(index));
  const root = merkleRootOf(leaves, keccak);
  for (const [one, other] of [
    [0, 2],
    [1, 8],
    [3, 4],
  ] as const) {
    const changed = leaves.with(one, leafAt(other)).with(other, leafAt(one));
    assert.notDeepEqual(merkleRootOf(changed, keccak), root);
  }
});

test("a proof is for one leaf and one root, and nodes of another size prove nothing", () => {
  const leaves = Array.from({ length: 7 }, (_, index) => leafAt(index));
  const root = merkleRootOf(leaves, keccak);
  const proof = merkleTree(leaves, keccak).proofOf(2);
  assert.ok(verifyProof(root, leafAt(2), proof));
  assert.equal(verifyProof(root, leafAt(3), proof.slice(1)), false);
  assert.equal(verifyProof(root, leafAt(2), proof.slice(1)), false);
  assert.equal(verifyProof(root, leafAt(2), [...proof, root]), false);
  assert.equal(verifyProof(leafAt(5), leafAt(2), proof), false);
  assert.equal(verifyProof(root, leafAt(2), [new Uint8Array(33), ...proof.slice(1)]), false);
  assert.equal(verifyProof(root.subarray(1), leafAt(2), proof), false);
});

test("a tree without leaves has no root, and a leaf that is not there no proof", () => {
  assert.throws(() => makeMerkleRoot(keccak).root(), /without leaves/);
  assert.throws(() => merkleTree([leafAt(0)], keccak).proofOf(1), /no leaf 1/);
});

test("a million leaves are hashed in constant memory", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const used = (): number => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const tree = makeMerkleRoot(keccak);
  const counter = new DataView(new ArrayBuffer(32));
  const next = (index: number): void => {
    counter.setUint32(28, index);
    tree.add(keccak(new Uint8Array(counter.buffer)));
  };
  for (let index = 0; index < 1_000; index++) next(index);
  const before = used();
  for (let index = 1_000; index < 1_000_000; index++) next(index);
  assert.ok(used() - before < 256 * 1024, `${used() - before} bytes`);
  assert.equal(tree.root().length, 32);
});

function leafAt(index: number): Uint8Array {
  return pureKeccak(Uint8Array.of(index));
}

/** The definition, as a whole level at a time. */
function rootByLevels(leaves: readonly Uint8Array[]): Uint8Array {
  let level = leaves.map((leaf) => bytesToHex(leaf));
  while (level.length > 1) {
    level = Array.from({ length: Math.ceil(level.length / 2) }, (_, index) => {
      const [one, other] = level.slice(2 * index, 2 * index + 2).sort() as [`0x${string}`, `0x${string}` | undefined];
      return other === undefined ? one : bytesToHex(pureKeccak(Buffer.from(one.slice(2) + other.slice(2), "hex")));
    });
  }
  return Uint8Array.from(Buffer.from(level[0]?.slice(2) ?? "", "hex"));
}
