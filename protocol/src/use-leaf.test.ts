import assert from "node:assert/strict";
import { test } from "node:test";
import { StandardMerkleTree } from "@openzeppelin/merkle-tree";
import fc from "fast-check";
import { bytesToHex, type Hex, stringToHex, zeroAddress, zeroHash } from "viem";
import { makeKeccak } from "./keccak-wasm.ts";
import { chargedOf, makeLeafOf, type SettledUse, type Settlement } from "./use-leaf.ts";

const keccak = await makeKeccak();
const settlement: Settlement = { chainId: 31_337, address: "0x00000000000000000000000000000000000005e7" };
const ACCOUNT = "0x000000000000000000000000000000000000Acc0";
const AGENT = { token: "0x00000000000000000000000000000000000a9e07", offerHash: `0x${"5".repeat(64)}` } as const;
const TYPES = ["uint256", "address", "address", "bytes32", "uint256", "uint256", "uint256", "uint256", "address"];

const nanoUsd = fc.integer({ min: 0, max: 9_000_000_000_000_000 });
const uses = fc
  .record({
    costNanoUsd: nanoUsd,
    dayServed: fc.integer({ min: 0, max: 65_535 }),
    agent: fc.option(fc.constant(AGENT), { nil: undefined }),
    snapshot: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => bytesToHex(bytes).slice(2)),
  })
  .chain((use) =>
    nanoUsd.map((rest): SettledUse => {
      const endsAtNanoUsd = Math.min(use.costNanoUsd + rest, 9_000_000_000_000_000);
      return { ...use, endsAtNanoUsd, receipt: `req_${"0".repeat(26)}` };
    }),
  );

test("a leaf is OpenZeppelin's of the same values, for any use and statement", () => {
  const leafOf = makeLeafOf(settlement, ACCOUNT, keccak);
  fc.assert(
    fc.property(uses, nanoUsd, (use, from) => {
      const before = Math.min(from, use.endsAtNanoUsd);
      const values = [
        ...[31_337, settlement.address, ACCOUNT, stringToHex(use.receipt, { size: 32 })],
        ...[use.endsAtNanoUsd, use.costNanoUsd, Math.min(use.costNanoUsd, use.endsAtNanoUsd - before), use.dayServed],
        ...[use.agent?.token ?? zeroAddress, use.agent?.offerHash ?? zeroHash, `0x${use.snapshot.padEnd(64, "0")}`],
      ].map((value) => (typeof value === "number" ? BigInt(value) : value));
      const theirs = StandardMerkleTree.of([values], [...TYPES, "bytes32", "bytes32"]).leafHash(values);
      assert.equal(bytesToHex(leafOf(use, before)), theirs);
    }),
  );
});

test("every field of a leaf, its account, contract and chain change it", () => {
  const use = useAt(1);
  const leaf = (changed: Partial<SettledUse>, at: Settlement = settlement, account: Hex = ACCOUNT) =>
    bytesToHex(makeLeafOf(at, account, keccak)({ ...use, ...changed }, 0));
  const leaves = [
    leaf({}),
    leaf({ receipt: useAt(2).receipt }),
    leaf({ endsAtNanoUsd: use.endsAtNanoUsd + 1 }),
    leaf({ costNanoUsd: use.costNanoUsd - 1 }),
    leaf({ dayServed: use.dayServed - 1 }),
    leaf({ agent: AGENT }),
    leaf({ agent: { ...AGENT, offerHash: `0x${"6".repeat(64)}` } }),
    leaf({ agent: { ...AGENT, token: zeroAddress } }),
    leaf({ snapshot: "f".repeat(32) }),
    leaf({}, { ...settlement, chainId: 1 }),
    leaf({}, { ...settlement, address: zeroAddress }),
    leaf({}, settlement, zeroAddress),
    bytesToHex(makeLeafOf(settlement, ACCOUNT, keccak)(use, use.endsAtNanoUsd - 1)),
  ];
  assert.equal(new Set(leaves).size, leaves.length);
  assert.equal(leaf({}), leaves[0]);
});

test("a statement that begins within a use charges its rest, and the parts add up to the cost", () => {
  const use = { endsAtNanoUsd: 100, costNanoUsd: 40 };
  assert.deepEqual(
    [0, 60, 61, 99, 100].map((before) => chargedOf(use, before)),
    [40, 40, 39, 1, 0],
  );
});

test("values that no ledger has as a use have no leaf", () => {
  const leafOf = makeLeafOf(settlement, ACCOUNT, keccak);
  assert.throws(() => leafOf({ ...useAt(1), endsAtNanoUsd: -1 }, 0), RangeError);
  assert.throws(() => leafOf({ ...useAt(1), costNanoUsd: 0.5 }, 0), RangeError);
  assert.throws(() => leafOf(useAt(1), 9_000_000), RangeError);
  assert.throws(() => leafOf({ ...useAt(1), receipt: "r".repeat(33) }, 0), RangeError);
  assert.throws(() => leafOf({ ...useAt(1), snapshot: "prices" }, 0));
});

function useAt(index: number): SettledUse {
  return {
    receipt: `req_${String(index).padStart(26, "0")}`,
    endsAtNanoUsd: 1_000 * (index + 1),
    costNanoUsd: 1_000,
    dayServed: 20_000,
    snapshot: "a".repeat(32),
  };
}
