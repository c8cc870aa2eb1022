/** The primary chain alone, without bridge and agents, for tests and tools that need one chain with credit. */

import { deploy } from "@inference/contracts/deploy";
import { connectDeployer } from "@inference/contracts/deployer";
import { MIN_TIMELOCK_SECONDS, NO_RECEIPT_KEY } from "@inference/contracts/deployment-config";
import type { Account, Address, Hex } from "viem";

export interface DeployPrimaryOptions {
  readonly rpcUrl: string;
  readonly deployer: Account;
  readonly proposer: Address;
  readonly guardian: Address;
  readonly settler: Address;
  /** {@link NO_RECEIPT_KEY} if absent. */
  readonly receiptKey?: Hex;
  readonly stablecoin: Address;
}

interface PrimaryDeployment {
  readonly chainId: number;
  /** The block from which events are read. */
  readonly block: bigint;
  readonly addresses: PrimaryAddresses;
}

interface PrimaryAddresses {
  readonly create3Factory: Address;
  readonly timelockController: Address;
  readonly inferenceToken: Address;
  readonly tokenMinter: Address;
  readonly inferenceSettlement: Address;
  readonly x402Door: Address;
  readonly stablecoin: Address;
}

/** Same as {@link deploy} for one chain; the proposer is also the provider. */
export async function deployPrimary(options: DeployPrimaryOptions): Promise<PrimaryDeployment> {
  const { rpcUrl, deployer, proposer, guardian, settler, stablecoin } = options;
  const { chainId } = await connectDeployer({ rpcUrl, account: deployer });
  const { receiptKey = NO_RECEIPT_KEY } = options;
  const primary = { chainId, stablecoin, proposer, guardian, primary: { settler, provider: proposer, receiptKey } };
  const config = {
    deployer: deployer.address,
    timelockDelaySeconds: MIN_TIMELOCK_SECONDS,
    dailyMintCap: 0n,
    messageGas: 0n,
    chains: { primary },
  };
  const [deployment] = await deploy(config, { rpcUrls: { primary: rpcUrl }, deployer });
  if (deployment === undefined) throw new TypeError("a configuration of one chain deploys on one");
  return { chainId, block: deployment.block, addresses: deployment.addresses as unknown as PrimaryAddresses };
}
