import { toHex } from "viem";
import { type HDAccount, mnemonicToAccount } from "viem/accounts";

/** The accounts that every development chain starts with. Everybody knows their keys. */
const MNEMONIC = "test test test test test test test test test test test junk";

/** Wallets to use as one likes. They have no power over the contracts. */
export const wallets: readonly HDAccount[] = [0, 1, 2, 3, 4].map(account);

/** Accounts with power over the contracts, and accounts of programs. */
export const roles = {
  proxyAdmin: account(5),
  guardian: account(6),
  /** Owns the protocol's Safe on each chain, which proposes to the timelock. */
  safeOwner: account(7),
  settler: account(8),
  deployer: account(9),
  verifier1: account(10),
  verifier2: account(11),
  executor: account(12),
  keeper: account(13),
  relay: account(14),
} as const;

/** How many of the mnemonic's accounts a chain begins with coins in. */
export const ACCOUNTS = wallets.length + Object.keys(roles).length;

export function privateKeyOf(wallet: HDAccount): `0x${string}` {
  const { privateKey } = wallet.getHdKey();
  if (privateKey == null) throw new TypeError("this wallet has no private key");
  return toHex(privateKey);
}

function account(addressIndex: number): HDAccount {
  return mnemonicToAccount(MNEMONIC, { addressIndex });
}
