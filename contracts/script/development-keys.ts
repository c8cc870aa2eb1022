/** Public development keys may hold roles only on local development chains. */
import type { Address } from "viem";

/** The chain ids of local development chains. */
export const LOCAL_CHAIN_IDS: readonly number[] = [31337, 31338, 31339];

/** The accounts of the mnemonic that every development chain starts with ("test test ... junk"). */
export const DEVELOPMENT_ADDRESSES: readonly Address[] = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
  "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
  "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
  "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
  "0xBcd4042DE499D14e55001CcbB24a551F3b954096",
  "0x71bE63f3384f5fb98995898A86B02Fb2426c5788",
  "0xFABB0ac9d68B0B445fB7357272Ff202C5651694a",
  "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec",
];

const developmentAddresses = new Set(DEVELOPMENT_ADDRESSES.map((address) => address.toLowerCase()));

/**
 * Throws {@link DevelopmentKeyError} if one of the `holders` (role to address) is a development key on a real chain.
 */
export function refuseDevelopmentKeys(chainId: number, holders: Readonly<Record<string, Address>>): void {
  if (LOCAL_CHAIN_IDS.includes(chainId)) return;
  for (const [role, address] of Object.entries(holders)) {
    if (developmentAddresses.has(address.toLowerCase())) throw new DevelopmentKeyError(chainId, role, address);
  }
}

export class DevelopmentKeyError extends Error {
  override readonly name = "DevelopmentKeyError";

  constructor(chainId: number, role: string, address: Address) {
    super(`${address} is a public development key and cannot be the ${role} on chain ${chainId}.`);
  }
}
