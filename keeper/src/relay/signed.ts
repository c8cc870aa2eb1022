import { fail } from "@inference/protocol/errors";
import { type Address, type Hex, hexToBigInt, isAddressEqual, recoverTypedDataAddress, size, slice } from "viem";

/** Half of the order of secp256k1: the stablecoin and OpenZeppelin refuse a signature with a larger `s`. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

type TypedData = Parameters<typeof recoverTypedDataAddress>[0];

/**
 * Throws `invalid_signature` unless the key of `payer` signed exactly this. Asks no chain, so it holds before anything is
 * looked up: the terms of a payment in the mempool are public, and prove nothing of who sends them here.
 */
export async function requireSignature(
  { payer, signature }: { payer: string; signature: Hex },
  typedData: Omit<TypedData, "signature">,
): Promise<void> {
  if (isCanonical(signature)) {
    const signer = await recoverTypedDataAddress({ ...typedData, signature } as TypedData).catch(() => null);
    if (signer !== null && isAddressEqual(signer, payer.toLowerCase() as Address)) return;
  }
  const message =
    "The signature is not the payer's for these terms, chain and contract. The relay takes signatures of a wallet's own " +
    "key: 65 bytes, v 27 or 28, the lower s. A wallet that is a contract sends its transaction itself.";
  fail("invalid_signature", message, { param: "signature" });
}

function isCanonical(signature: Hex): boolean {
  if (size(signature) !== 65) return false;
  const v = hexToBigInt(slice(signature, 64));
  return (v === 27n || v === 28n) && hexToBigInt(slice(signature, 32, 64)) <= HALF_ORDER;
}
