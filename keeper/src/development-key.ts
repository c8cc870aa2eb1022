import type { Address } from "viem";
import { mnemonicToAccount } from "viem/accounts";

/** The accounts of this mnemonic exist on every local development chain, and their keys are public. */
const MNEMONIC = "test test test test test test test test test test test junk";
const ACCOUNTS = 14;
const LOCAL_CHAIN_IDS: readonly number[] = [31337, 31338, 31339];

/** Throws {@link DevelopmentKeyError} if the keeper's key is public and the chain is a real one. */
export function refuseDevelopmentKey(chainId: number, keeper: Address): void {
  if (LOCAL_CHAIN_IDS.includes(chainId)) return;
  for (let addressIndex = 0; addressIndex < ACCOUNTS; addressIndex += 1) {
    if (mnemonicToAccount(MNEMONIC, { addressIndex }).address === keeper)
      throw new DevelopmentKeyError(chainId, keeper);
  }
}

export class DevelopmentKeyError extends Error {
  override readonly name = "DevelopmentKeyError";

  constructor(chainId: number, address: Address) {
    super(`${address} is a public development key and cannot be the keeper on chain ${chainId}.`);
  }
}
