/** A deployment carried out on copies of the chains: everything happens as it would, and nothing is sent. */
import { createTestClient, http } from "viem";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type ChainDeployment, deploy } from "./deploy.ts";
import type { DeploymentConfig } from "./deployment-config.ts";

export interface SimulateOptions {
  /** By the names of the configuration's chains. */
  readonly rpcUrls: Readonly<Record<string, string>>;
  onProgress?(line: string): void;
}

/**
 * Deploys on a local copy of each chain as it is now, as the configuration's deployer but without its key, with the
 * coins that it really has, and reads everything back. Throws as {@link deploy} does.
 */
export async function simulate(config: DeploymentConfig, options: SimulateOptions): Promise<ChainDeployment[]> {
  const copies: Record<string, Anvil> = {};
  try {
    for (const [name, { chainId }] of Object.entries(config.chains)) {
      const forkUrl = options.rpcUrls[name];
      if (forkUrl === undefined) throw new Error(`There is no node's URL for ${name}.`);
      const copy = await startAnvil(chainId, { forkUrl });
      copies[name] = copy;
      const client = createTestClient({ mode: "anvil", transport: http(copy.rpcUrl) });
      await client.impersonateAccount({ address: config.deployer });
    }
    const rpcUrls = Object.fromEntries(Object.entries(copies).map(([name, { rpcUrl }]) => [name, rpcUrl]));
    const deployer = { address: config.deployer, type: "json-rpc" } as const;
    return await deploy(config, { ...options, rpcUrls, deployer });
  } finally {
    await Promise.all(Object.values(copies).map((copy) => copy[Symbol.asyncDispose]()));
  }
}
