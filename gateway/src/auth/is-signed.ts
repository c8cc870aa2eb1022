import type { Address } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { checkPlainSignature, type Hex } from "@inference/protocol/plain-signature";
import type { Gateway } from "../gateway.ts";

/**
 * Whether an account has signed a hash, with its own key or as a contract wallet. Throws 401 for a signature with a
 * high `s`, 503 `chain_unavailable` or `overloaded` if a contract wallet could not be asked.
 *
 * A contract is asked on the primary chain alone. Anyone can send a signature that gets this far. The body's limit
 * bounds its size, and a semaphore bounds the concurrent checks, in total and for one client.
 *
 * @param query.client The client's address; undefined if it is unknown.
 * @param query.mayBeContract False: only the account's own key counts.
 */
export async function isSigned(
  { environment, contractSignatures, freeWork }: Gateway,
  {
    client,
    mayBeContract = true,
    ...query
  }: { address: Address; hash: Hex; signature: Hex; client: string | undefined; mayBeContract?: boolean },
): Promise<boolean> {
  // A check takes 1 to 2 ms, and anyone can request many.
  const plain = await freeWork.run(client ?? "", () => checkPlainSignature(query));
  if (plain === "high_s") fail("invalid_signature", "The signature has a high `s` value. Sign again.");
  // The account's own key is checked without the chain, so it works while the chain cannot be read.
  if (plain === "signed" || !mayBeContract) return plain === "signed";
  return contractSignatures(() => environment.chain.acceptsSignature(query), client);
}
