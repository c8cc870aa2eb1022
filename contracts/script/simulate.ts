/** Runs a deployment on forks of the chains; nothing is sent. */
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
 * Deploys on a fork of each chain in its current state, as the configuration's deployer but without its key, with its
 * real balance, and checks everything. Throws like {@link deploy}.
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
