import { concatHex, encodeAbiParameters, type Hex, isHex, keccak256, stringToHex, zeroAddress, zeroHash } from "viem";
import type { Address } from "./credential.ts";
import type { RequestId } from "./id.ts";
import type { NanoUsd } from "./money.ts";

/** One use in a batch, as the settlement contract's leaf has it. */
export type SettledUse = {
  batch: number;
  account: Address;
  receipt: RequestId;
  costNanoUsd: NanoUsd;
  /** The UTC day of the request's admission, in days since 1970. */
  dayServed: number;
  /** Absent if the protocol's account served the use. */
  agent?: { token: Address; offerHash: Hex } | undefined;
};

/** The contract that stores the roots. */
export type Settlement = { chainId: number; address: Address };

/** The types of a leaf, as OpenZeppelin's `StandardMerkleTree` takes them. */
export const LEAF_TYPES = [
  "uint256",
  "address",
  "uint256",
  "address",
  "bytes32",
  "uint256",
  "address",
  "uint256",
  "bytes32",
] as const;

/** The values of a leaf, in the order of {@link LEAF_TYPES}. */
export function leafValues(settlement: Settlement, use: SettledUse) {
  return [
    BigInt(settlement.chainId),
    settlement.address,
    BigInt(use.batch),
    use.account,
    stringToHex(use.receipt, { size: 32 }),
    BigInt(use.costNanoUsd),
    use.agent?.token ?? zeroAddress,
    BigInt(use.dayServed),
    use.agent?.offerHash ?? zeroHash,
  ] as const;
}

/** `leafOf` of the settlement contract. The hash of a hash: no inner node of the tree passes as a leaf. */
export function leafOf(settlement: Settlement, use: SettledUse): Hex {
  const parameters = LEAF_TYPES.map((type) => ({ type }));
  return keccak256(keccak256(encodeAbiParameters(parameters, leafValues(settlement, use))));
}

/** `verify` of the settlement contract: whether the proof leads from the use's leaf to the root of its batch. */
export function verifyUse(root: Hex, settlement: Settlement, use: SettledUse, proof: readonly Hex[]): boolean {
  if (!proof.every((node) => isHex(node) && node.length === 66)) return false;
  return proof.reduce(parentOf, leafOf(settlement, use)) === root.toLowerCase();
}

/** The inner node above two nodes. They are sorted, so that a proof need not tell left from right. */
export function parentOf(one: Hex, other: Hex): Hex {
  const [a, b] = [one.toLowerCase() as Hex, other.toLowerCase() as Hex];
  return keccak256(concatHex(a < b ? [a, b] : [b, a]));
}
