/** Deploys, on local chains, tokens that third parties issue on real chains. */

import { connectDeployer, createContract, send } from "@inference/contracts/deployer";
import { localToken } from "@inference/contracts/generated/local-token";
import { type Account, type Address, encodeDeployData } from "viem";

export interface DeployLocalTokenOptions {
  readonly rpcUrl: string;
  /** Pays for the deployment, and may mint. */
  readonly issuer: Account;
  readonly name: string;
  readonly symbol: string;
}

/** Deploys a token with 18 decimals. */
export async function deployLocalToken({ rpcUrl, issuer, name, symbol }: DeployLocalTokenOptions): Promise<Address> {
  const deployer = await connectDeployer({ rpcUrl, account: issuer });
  const args = [name, symbol, issuer.address] as const;
  return await createContract(deployer, name, encodeDeployData({ ...localToken, args }));
}

export interface FundLocalTokenOptions {
  readonly rpcUrl: string;
  readonly token: Address;
  /** The account that deployed it. */
  readonly issuer: Account;
  readonly to: Address;
  /** In units of 1e-18 token. */
  readonly amount: bigint;
}

/** Mints tokens of {@link deployLocalToken} to any account. */
export async function fundLocalToken({ rpcUrl, token, issuer, to, amount }: FundLocalTokenOptions): Promise<void> {
  const deployer = await connectDeployer({ rpcUrl, account: issuer });
  await send(deployer, { address: token, abi: localToken.abi, functionName: "mint", args: [to, amount] });
}
