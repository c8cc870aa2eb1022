/**
 * The dollar bridge between local chains: a pool of each chain's stablecoin, and LayerZero messages between the pools.
 * On real chains third parties run such a bridge.
 */

import { connectDeployer, createContract, DeploymentError, send } from "@inference/contracts/deployer";
import { LOCAL_CHAIN_IDS } from "@inference/contracts/development-keys";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { receiveOptions } from "@inference/contracts/layerzero-options";
import { type Account, type Address, encodeDeployData, pad } from "viem";

export interface DollarPoolSite {
  readonly rpcUrl: string;
  readonly eid: number;
  readonly endpoint: Address;
  readonly dollar: Address;
}

/** Gas for a payment from a pool, with a stablecoin like USDC. */
const PAY_GAS = 200_000n;
/** A message that transfers dollars and nothing else, in the enumeration of LayerZero's tokens. */
const SEND = 1;

/** Deploys a pool on each local chain and makes each the peer of all others. In the order of `sites`. */
export async function deployDollarPools(owner: Account, sites: readonly DollarPoolSite[]): Promise<Address[]> {
  const placed: { site: DollarPoolSite; pool: Address }[] = [];
  for (const site of sites) {
    const deployer = await connectDeployer({ rpcUrl: site.rpcUrl, account: owner });
    if (!LOCAL_CHAIN_IDS.includes(deployer.chainId)) {
      throw new DeploymentError(`Chain ${deployer.chainId} is not local: use a dollar bridge that it has.`);
    }
    const args = [site.dollar, site.endpoint, owner.address] as const;
    const pool = await createContract(deployer, "DollarPool", encodeDeployData({ ...dollarPool, args }));
    placed.push({ site, pool });
  }
  for (const { site, pool } of placed) {
    const deployer = await connectDeployer({ rpcUrl: site.rpcUrl, account: owner });
    const others = placed.filter((other) => other.pool !== pool || other.site !== site);
    const call = { address: pool, abi: dollarPool.abi } as const;
    for (const { site: other, pool: peer } of others) {
      await send(deployer, { ...call, functionName: "setPeer", args: [other.eid, pad(peer)] });
    }
    const enforced = others.map(({ site: { eid } }) => ({ eid, msgType: SEND, options: receiveOptions(PAY_GAS) }));
    await send(deployer, { ...call, functionName: "setEnforcedOptions", args: [enforced] });
  }
  return placed.map(({ pool }) => pool);
}
