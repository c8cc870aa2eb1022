import { deployPrimary } from "@inference/contracts/deploy";
import { deployUsdc, fundUsdc } from "@inference/contracts/deploy-usdc";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import type { Address } from "viem";
import type { Chain } from "./chain.ts";
import { roles, wallets } from "./wallets.ts";

/** Where the contracts of a chain are. As it is kept from one start to the next. */
export type Deployment = {
  chainId: number;
  /** The block before the contracts' first event. */
  block: number;
  contracts: Record<string, Address>;
};

/** What each wallet gets, in the dollar's units, 1e-6 USD. */
export const WALLET_USDC = 10_000_000_000n;

/** Puts the dollar and the contracts on a new chain, and dollars into the wallets. */
export async function deploy({ chainId, rpcUrl }: Chain): Promise<Deployment> {
  const { deployer, proxyAdmin, proposer, guardian, settler } = roles;
  const holders = Object.entries({ ...roles, ...Object.fromEntries(wallets.entries()) });
  refuseDevelopmentKeys(chainId, Object.fromEntries(holders.map(([role, { address }]) => [role, address])));
  const usdc = await deployUsdc({ rpcUrl, deployer, proxyAdmin: proxyAdmin.address });
  const { block, addresses } = await deployPrimary({
    rpcUrl,
    deployer,
    proposer: proposer.address,
    guardian: guardian.address,
    settler: settler.address,
    stablecoin: usdc,
  });
  for (const { address } of wallets) {
    await fundUsdc({ rpcUrl, usdc, masterMinter: deployer, to: address, amount: WALLET_USDC });
  }
  return { chainId, block: Number(block), contracts: { ...addresses } };
}

/** The address of a contract, by the name it has in the deployment. */
export function contract({ contracts }: Deployment, name: string): Address {
  const address = contracts[name];
  if (address === undefined) throw new TypeError(`the deployment has no ${name}`);
  return address;
}
