import { deploy as deployContracts, type Stablecoin } from "@inference/contracts/deploy";
import { confirm, connectDeployer, send } from "@inference/contracts/deployer";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { ownValue } from "@inference/protocol/own-value";
import { type Address, encodeFunctionData, type Hex } from "viem";
import type { Chain } from "./chain.ts";
import { LEAST_DEPTH } from "./finality.ts";
import {
  fundDollars,
  LOCAL_CHAIN_NAMES,
  type LocalChainName,
  type LocalSite,
  type LocalWorld,
  prepareLocalChains,
} from "./third-parties/local-chains.ts";
import { seedPool } from "./third-parties/uniswap.ts";
import { roles, wallets } from "./wallets.ts";

/** The contracts on the chains, kept from start to start. */
export type Deployment = Readonly<Record<LocalChainName, ChainDeployment>>;

export type ChainDeployment = {
  chainId: number;
  /** The block from which events are read: none of the contracts' events is older. */
  block: number;
  /** Ours and those of others, by the names that programs use. */
  contracts: Record<string, Address>;
  layerZero: LocalSite["layerZero"] & { eid: number };
  /** The dollar that the minter takes. */
  stablecoin: Stablecoin;
};

/** Each wallet's dollars on each chain. */
export const WALLET_DOLLARS = 10_000n;
/** The first liquidity of the token's market pool, in dollars and in tokens. */
const MARKET_DOLLARS = 1_000n;
/** The float of each secondary chain. */
const FLOAT_DOLLARS = 100n;
const TOKEN_UNITS = 1_000_000n;

/**
 * Puts all that a real chain has and our contracts on new chains, and dollars into the wallets.
 *
 * @param receiptKey The gateway's.
 */
export async function deploy(
  chains: Readonly<Record<LocalChainName, Chain>>,
  receiptKey: `0x${string}`,
): Promise<Deployment> {
  const holders = Object.entries({ ...roles, ...Object.fromEntries(wallets.entries()) });
  const addresses = Object.fromEntries(holders.map(([role, { address }]) => [role, address]));
  for (const { chainId } of Object.values(chains)) refuseDevelopmentKeys(chainId, addresses);
  const { deployer, proxyAdmin, safeOwner, guardian, settler, verifier1, verifier2 } = roles;
  const world = await prepareLocalChains({
    chains,
    roles: {
      deployer,
      proxyAdmin: proxyAdmin.address,
      safeOwner: safeOwner.address,
      guardian: guardian.address,
      settler: settler.address,
      verifierKeys: [verifier1.address, verifier2.address],
      receiptKey,
    },
    confirmations: LEAST_DEPTH,
  });
  const rpcUrls = Object.fromEntries(LOCAL_CHAIN_NAMES.map((name) => [name, chains[name].rpcUrl]));
  const deployed = await deployContracts(world.config, { rpcUrls, deployer });
  const entries = deployed.map(
    ({ name, chainId, block, addresses: contracts, stablecoin }): [string, ChainDeployment] => {
      const { eid, layerZero, stakingToken, dollarPool, protocolSafe, ...others } = world.sites[name as LocalChainName];
      const { uniswapFactory, positionManager, swapRouter, swapQuoter } = others;
      const market = { uniswapFactory, positionManager, swapRouter, swapQuoter };
      const foreign = { stakingToken, dollarPool, protocolSafe, ...market };
      const standing = { ...contracts, ...foreign, layerZeroEndpoint: layerZero.endpoint };
      return [
        name,
        { chainId, block: Number(block), contracts: standing, layerZero: { eid, ...layerZero }, stablecoin },
      ];
    },
  );
  const deployment = Object.fromEntries(entries) as Deployment;
  await Promise.all(LOCAL_CHAIN_NAMES.map((name) => fundWallets(world, name)));
  deployment.primary.contracts.marketPool = await openMarket(world.sites.primary, deployment.primary);
  await fundFloats(world.sites.primary, deployment);
  return deployment;
}

/** The address of a contract, by the name it has in the deployment. */
export function contract({ contracts }: Pick<ChainDeployment, "contracts">, name: string): Address {
  const address = ownValue(contracts, name);
  if (address === undefined) throw new TypeError(`the deployment has no ${name}`);
  return address;
}

async function fundWallets({ sites }: LocalWorld, name: LocalChainName): Promise<void> {
  for (const { address } of wallets) {
    await fundDollars(sites[name], { issuer: roles.deployer, to: address, dollars: WALLET_DOLLARS });
  }
}

/** The market of the token against the dollar, where the token may be had below a dollar. Begins at one for one. */
async function openMarket(site: LocalSite, deployment: ChainDeployment): Promise<Address> {
  const { rpcUrl } = site.chain;
  const { deployer } = roles;
  await fundDollars(site, { issuer: deployer, to: deployer.address, dollars: 2n * MARKET_DOLLARS });
  const amount = MARKET_DOLLARS * TOKEN_UNITS;
  const mint = encodeFunctionData({ abi: tokenMinterAbi, functionName: "mint", args: [amount] });
  await payMinter(site, { deployment, amount, calls: [mint] });
  return await seedPool({
    ...{ rpcUrl, account: deployer, positionManager: site.positionManager, feeTier: 500, observations: 200 },
    amounts: [
      { token: contract(deployment, "inferenceToken"), amount },
      { token: site.stablecoin, amount },
    ],
  });
}

/** Dollars that let activations from afar through before their own have landed. */
async function fundFloats(site: LocalSite, { primary, secondary1, secondary2 }: Deployment): Promise<void> {
  const eids = [secondary1, secondary2].map(({ layerZero }) => layerZero.eid);
  const dollars = FLOAT_DOLLARS * BigInt(eids.length);
  await fundDollars(site, { issuer: roles.deployer, to: roles.deployer.address, dollars });
  const calls = eids.map((eid) =>
    encodeFunctionData({
      abi: tokenMinterAbi,
      functionName: "fundFloat",
      args: [eid, FLOAT_DOLLARS * TOKEN_UNITS],
    }),
  );
  await payMinter(site, { deployment: primary, amount: dollars * TOKEN_UNITS, calls });
}

/** Approves `amount` of the deployer's dollars to the minter, and makes the calls that take them. */
async function payMinter(
  { chain: { rpcUrl }, stablecoin }: LocalSite,
  { deployment, amount, calls }: { deployment: ChainDeployment; amount: bigint; calls: readonly Hex[] },
): Promise<void> {
  const payer = await connectDeployer({ rpcUrl, account: roles.deployer });
  const to = contract(deployment, "tokenMinter");
  await send(payer, { address: stablecoin, abi: stablecoinAbi, functionName: "approve", args: [to, amount] });
  for (const data of calls) await confirm(payer, "the minter", await payer.writer.sendTransaction({ to, data }));
}
