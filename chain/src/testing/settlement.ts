import { connectDeployer, createContract } from "@inference/contracts/deployer";
import { inferenceSettlement } from "@inference/contracts/generated/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { encodeDeployData, zeroAddress, zeroHash } from "viem";
import { mnemonicToAccount } from "viem/accounts";

/** The real settlement contract by itself, made with these parts and no others. */
export async function deploySettlement(
  rpcUrl: string,
  parts: { token?: Address; minter?: Address; bridge?: Address; pool?: Address; registry?: Address } = {},
): Promise<Address> {
  const account = mnemonicToAccount("test test test test test test test test test test test junk");
  const deployer = await connectDeployer({ rpcUrl, account });
  const { address } = account;
  const roles = { timelock: address, guardian: address, settler: address, provider: address };
  const nothing = { token: zeroAddress, minter: zeroAddress, bridge: zeroAddress, pool: zeroAddress };
  const wiring = { ...nothing, registry: zeroAddress, ...roles, receiptKey: zeroHash, ...parts };
  return createContract(deployer, "settlement", encodeDeployData({ ...inferenceSettlement, args: [wiring] }));
}
