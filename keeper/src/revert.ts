import { BaseError, ContractFunctionRevertedError } from "viem";

/**
 * Why a call reverted: the name of the contract's error, the text of a plain `revert`, or an empty text for an error that
 * the ABI does not name. Undefined if the call did not revert.
 */
export function revertOf(error: unknown): string | undefined {
  if (!(error instanceof BaseError)) return undefined;
  const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return undefined;
  return (reverted.data?.errorName === "Error" ? reverted.reason : reverted.data?.errorName) ?? "";
}
