import { fail } from "@inference/protocol/errors";
import { checkPlainSignature } from "@inference/protocol/plain-signature";
import { type Address, type Hex, hashTypedData, type TypedDataDefinition } from "viem";

/** 65 bytes with `v` 27 or 28: the stablecoin and OpenZeppelin take no other form. */
const WALLET_FORM = /^0x[0-9a-f]{128}1[bc]$/i;

/**
 * Throws `invalid_signature` unless the key of `payer` signed exactly this. Asks no chain, so it holds before anything is
 * looked up: the terms of a payment in the mempool are public, and prove nothing of who sends them here.
 */
export async function requireSignature(
  { payer, signature }: { payer: string; signature: Hex },
  typedData: object,
): Promise<void> {
  const query = { address: payer as Address, hash: hashTypedData(typedData as TypedDataDefinition), signature };
  if (WALLET_FORM.test(signature) && (await checkPlainSignature(query)) === "signed") return;
  const message =
    "The signature is not the payer's for these terms, chain and contract. The relay takes signatures of a wallet's own " +
    "key: 65 bytes, v 27 or 28, the lower s. A wallet that is a contract sends its transaction itself.";
  fail("invalid_signature", message, { param: "signature" });
}
