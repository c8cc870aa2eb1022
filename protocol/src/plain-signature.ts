import { recoverAddress } from "viem/utils";
import type { Address } from "./credential.ts";

export type Hex = `0x${string}`;

/**
 * Whether an account's own key signed a hash.
 *
 * - `signed`: it did
 * - `high_s`: it did, but the signature has a high `s`, which anyone can compute from a valid signature
 * - `other`: it did not; a contract at the address may still accept the signature
 */
export type PlainSignature = "signed" | "high_s" | "other";

/** @param signature 65 bytes with `v` 27, 28, 0 or 1, or EIP-2098's 64 bytes; anything else is `other`. */
export async function checkPlainSignature(query: {
  address: Address;
  /** The hash of a message (EIP-191) or of typed data (EIP-712). */
  hash: Hex;
  signature: Hex;
}): Promise<PlainSignature> {
  const parts = split(query.signature);
  if (parts === undefined) return "other";
  const { r, s, yParity } = parts;
  if (!isScalar(r) || !isScalar(s)) return "other";
  const signer = await recover(query.hash, { r: word(r), s: word(s), yParity });
  if (signer?.toLowerCase() !== query.address.toLowerCase()) return "other";
  return s > ORDER / 2n ? "high_s" : "signed";
}

/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const PARITIES = new Map([
  [0n, 0],
  [1n, 1],
  [27n, 0],
  [28n, 1],
]);

type Parts = { r: bigint; s: bigint; yParity: number };

function split(signature: Hex): Parts | undefined {
  const digits = signature.slice(2);
  if (digits.length !== 130 && digits.length !== 128) return undefined;
  const r = BigInt(`0x${digits.slice(0, 64)}`);
  const s = BigInt(`0x${digits.slice(64, 128)}`);
  if (digits.length === 128) return { r, s: BigInt.asUintN(255, s), yParity: Number(s >> 255n) };
  const yParity = PARITIES.get(BigInt(`0x${digits.slice(128)}`));
  return yParity === undefined ? undefined : { r, s, yParity };
}

async function recover(hash: Hex, signature: { r: Hex; s: Hex; yParity: number }): Promise<Hex | undefined> {
  try {
    return await recoverAddress({ hash, signature });
  } catch {
    // Half of all r are the x of no point: such a signature is nobody's.
    return undefined;
  }
}

function isScalar(value: bigint): boolean {
  return value > 0n && value < ORDER;
}

function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
