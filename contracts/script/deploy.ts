/** Deploys the contracts of every chain through one sealed factory each, and checks every contract reference. */
import { type Account, type Address, createPublicClient, erc20Abi, http } from "viem";
import { built } from "../generated/all.ts";
import {
  addressesOf,
  type ChainPlan,
  CREATE2_DEPLOYER,
  type PlannedContract,
  planDeployment,
  salt,
} from "./contract-plan.ts";
import { BATCHED, confirm, connectDeployer, type Deployer, DeploymentError } from "./deployer.ts";
import { checkDeploymentConfig, type DeploymentConfig, roleHolders } from "./deployment-config.ts";
import { LOCAL_CHAIN_IDS, refuseDevelopmentKeys } from "./development-keys.ts";
import { firstBlockOf } from "./first-block.ts";
import { verifyChain } from "./verify-deployment.ts";

export { DEVELOPMENT_ADDRESSES, DevelopmentKeyError, LOCAL_CHAIN_IDS } from "./development-keys.ts";
export { WiringError } from "./verify-deployment.ts";

export interface DeployOptions {
  /** By the names of the configuration's chains. */
  readonly rpcUrls: Readonly<Record<string, string>>;
  /** The configuration's deployer. */
  readonly deployer: Account;
  onProgress?(line: string): void;
}

export interface ChainDeployment {
  readonly name: string;
  readonly chainId: number;
  /** LayerZero's id of the chain; 0 if there is only one chain. */
  readonly eid: number;
  /** The block from which events are read: that of the factory, whichever run deployed it. */
  readonly block: bigint;
  readonly gasUsed: bigint;
  /** By the names that programs use. */
  readonly addresses: Readonly<Record<string, Address>>;
  /** The stablecoin that the minter takes; its address is among the others. */
  readonly stablecoin: Stablecoin;
}

export interface Stablecoin {
  readonly decimals: number;
  /** Null if the token has no readable symbol. */
  readonly symbol: string | null;
}

/**
 * Deploys the contracts of the configuration on all chains, or those that an interrupted run has not deployed. A
 * finished chain is only checked.
 * Throws {@link DevelopmentKeyError} before anything is sent, {@link DeploymentError} if a chain does not match the
 * configuration or a transaction reverts, {@link WiringError} if a contract reference is not as configured.
 */
export async function deploy(config: DeploymentConfig, options: DeployOptions): Promise<ChainDeployment[]> {
  checkDeploymentConfig(config);
  const plans = planDeployment(config);
  const sites: { plan: ChainPlan; deployer: Deployer }[] = [];
  for (const plan of plans) {
    const deployer = await connectDeployer({ rpcUrl: urlOf(options, plan.name), account: options.deployer });
    await checkSite(config, plan, deployer);
    sites.push({ plan, deployer });
  }
  const deployed: ChainDeployment[] = [];
  for (const { plan, deployer } of sites) {
    options.onProgress?.(`Deploying on ${plan.name} (chain ${plan.chain.chainId}) ...`);
    deployed.push(await deployChain(plan, deployer));
  }
  for (const { plan, deployer } of sites) await verifyChain(config, plan, deployer.reader);
  return deployed;
}

/** Checks every contract reference of an existing deployment. Throws {@link WiringError} with all differences. */
export async function verifyDeployment(
  config: DeploymentConfig,
  rpcUrls: Readonly<Record<string, string>>,
): Promise<void> {
  for (const plan of planDeployment(config)) {
    const reader = createPublicClient({ transport: http(urlOf({ rpcUrls }, plan.name), BATCHED) });
    await verifyChain(config, plan, reader);
  }
}

/** All errors that can be detected before the first transaction. */
async function checkSite(config: DeploymentConfig, plan: ChainPlan, deployer: Deployer): Promise<void> {
  const { name, chain } = plan;
  if (deployer.chainId !== chain.chainId) {
    throw new DeploymentError(`${name} is to be chain ${chain.chainId}, and its node is of chain ${deployer.chainId}.`);
  }
  if (deployer.account.address.toLowerCase() !== config.deployer.toLowerCase()) {
    throw new DeploymentError(
      `The deployer is to be ${config.deployer}, and the key is of ${deployer.account.address}.`,
    );
  }
  refuseDevelopmentKeys(chain.chainId, { deployer: config.deployer, ...roleHolders(chain) });
  // On a real chain a single key must not suffice to propose.
  const safe = LOCAL_CHAIN_IDS.includes(chain.chainId) ? {} : { "Safe that proposes": chain.proposer };
  for (const [what, address] of Object.entries({ ...dependencies(plan), ...safe })) {
    if (!(await hasCode(deployer, address))) {
      throw new DeploymentError(`There is no ${what} at ${address} on chain ${chain.chainId}.`);
    }
  }
}

/** The third-party contracts that ours refer to, by their role. */
function dependencies({ chain: { stablecoin, layerZero, dollarOft, agents } }: ChainPlan): Record<string, Address> {
  const verifiers = layerZero?.verifiers.map((verifier, index) => [`LayerZero verifier ${index + 1}`, verifier]) ?? [];
  return {
    "CREATE2 deployer": CREATE2_DEPLOYER,
    stablecoin,
    ...(layerZero && {
      "LayerZero endpoint": layerZero.endpoint,
      "LayerZero send library": layerZero.sendLibrary,
      "LayerZero receive library": layerZero.receiveLibrary,
      "LayerZero executor": layerZero.executor,
      ...Object.fromEntries(verifiers),
    }),
    ...(dollarOft && { "dollar OFT": dollarOft }),
    ...(agents && {
      "staking-derived token": agents.stakingToken,
      "Uniswap factory": agents.uniswapFactory,
      "Uniswap position manager": agents.uniswapPositionManager,
      "Safe proxy factory": agents.safeProxyFactory,
      "Safe singleton": agents.safeSingleton,
      "Safe fallback handler": agents.safeFallbackHandler,
    }),
  };
}

async function deployChain(plan: ChainPlan, deployer: Deployer): Promise<ChainDeployment> {
  const factory = await deployFactory(plan, deployer);
  let gasUsed = factory.gasUsed;
  const isSealed = await deployer.reader.readContract({
    address: plan.factory,
    abi: built.Create3Factory.abi,
    functionName: "isSealed",
  });
  for (const contract of plan.contracts) {
    if (await hasCode(deployer, contract.address)) continue;
    if (isSealed) {
      throw new DeploymentError(
        `${deployer.account.address} has deployed on chain ${deployer.chainId} before, without ${contract.name}: ` +
          "use another deployer.",
      );
    }
    gasUsed += await deployContract(plan, deployer, contract);
  }
  if (!isSealed) gasUsed += await sealFactory(plan, deployer);
  const { name, chain } = plan;
  const eid = chain.layerZero?.eid ?? 0;
  const stablecoin = await readStablecoin(deployer, chain.stablecoin);
  // Read last, because a node may not know it; the contracts are deployed in any case.
  const block = factory.block ?? (await firstBlockOf(deployer.reader, plan.factory));
  return { name, chainId: chain.chainId, eid, block, gasUsed, addresses: addressesOf(plan), stablecoin };
}

async function readStablecoin({ reader }: Deployer, address: Address): Promise<Stablecoin> {
  const token = { address, abi: erc20Abi } as const;
  const [decimals, symbol] = await Promise.all([
    reader.readContract({ ...token, functionName: "decimals" }),
    reader.readContract({ ...token, functionName: "symbol" }).catch(() => null),
  ]);
  return { decimals, symbol };
}

async function deployFactory(
  { factory, factoryData }: ChainPlan,
  deployer: Deployer,
): Promise<{ block?: bigint; gasUsed: bigint }> {
  if (await hasCode(deployer, factory)) return { gasUsed: 0n };
  const hash = await deployer.writer.sendTransaction({ to: CREATE2_DEPLOYER, data: factoryData });
  const { blockNumber, gasUsed } = await confirm(deployer, "Create3Factory", hash);
  return { block: blockNumber, gasUsed };
}

async function deployContract(plan: ChainPlan, deployer: Deployer, contract: PlannedContract): Promise<bigint> {
  const hash = await deployer.writer.writeContract({
    address: plan.factory,
    abi: built.Create3Factory.abi,
    functionName: "deploy",
    args: [salt(contract.name), contract.creationCode],
  });
  return (await confirm(deployer, contract.name, hash)).gasUsed;
}

async function sealFactory({ factory }: ChainPlan, deployer: Deployer): Promise<bigint> {
  const hash = await deployer.writer.writeContract({
    address: factory,
    abi: built.Create3Factory.abi,
    functionName: "seal",
  });
  return (await confirm(deployer, "seal", hash)).gasUsed;
}

async function hasCode(deployer: Deployer, address: Address): Promise<boolean> {
  return (await deployer.reader.getCode({ address })) !== undefined;
}

function urlOf({ rpcUrls }: Pick<DeployOptions, "rpcUrls">, name: string): string {
  const url = rpcUrls[name];
  if (url === undefined) throw new DeploymentError(`There is no node's URL for ${name}.`);
  return url;
}
