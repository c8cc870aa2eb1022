/** The block in which a contract was deployed: none of its events is older. */
import { type Address, BaseError, type PublicClient } from "viem";
import { DeploymentError } from "./deployer.ts";

type Reader = Pick<PublicClient, "getBlockNumber" | "getCode">;

/**
 * Checks whether the address has code, first backwards from the head in doubling steps, then by bisection. The
 * contract's events would also tell, but most nodes search only some thousands of blocks at a time, and a chain has
 * millions. A recent deployment is found even on a node that keeps only recent states.
 * Throws {@link DeploymentError} if the node does not have a state that is needed.
 */
export async function firstBlockOf(reader: Reader, address: Address): Promise<bigint> {
  let standing = await reader.getBlockNumber();
  let absent = standing - 1n;
  for (let step = 2n; absent >= 0n && (await stoodAt(reader, address, absent)); step *= 2n) {
    standing = absent;
    absent -= step;
  }
  if (absent < 0n) absent = -1n;
  while (standing - absent > 1n) {
    const middle = (standing + absent) / 2n;
    if (await stoodAt(reader, address, middle)) standing = middle;
    else absent = middle;
  }
  return standing;
}

async function stoodAt(reader: Reader, address: Address, blockNumber: bigint): Promise<boolean> {
  try {
    return (await reader.getCode({ address, blockNumber })) !== undefined;
  } catch (error) {
    const reason = error instanceof BaseError ? error.details || error.shortMessage : String(error);
    throw new DeploymentError(
      `The node does not say whether ${address} stood in block ${blockNumber} (${reason}): use one that keeps old ` +
        "states (an archive node).",
    );
  }
}
