/**
 * Deploys the third-party contracts of real chains (stablecoins, LayerZero, a dollar bridge with liquidity, Uniswap,
 * Safe, the staking-derived token) on a primary and two secondary chains, and returns the matching configuration.
 */

import {
  type ChainConfig,
  type DeploymentConfig,
  type ListingConfig,
  MIN_TIMELOCK_SECONDS,
  NO_RECEIPT_KEY,
} from "@inference/contracts/deployment-config";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { type Account, type Address, type Hex, parseEther } from "viem";
import { deployDollarPools } from "./dollar-pools.ts";
import { deployLayerZero, type LayerZeroAddresses } from "./layerzero.ts";
import { deployLocalToken, fundLocalToken } from "./local-token.ts";
import { createSafe, deploySafeContracts, type SafeContracts } from "./safe.ts";
import { deployUniswap, seedPool, type UniswapContracts } from "./uniswap.ts";
import { deployUsdc, fundUsdc } from "./usdc.ts";

export const LOCAL_CHAIN_NAMES = ["primary", "secondary1", "secondary2"] as const;
export type LocalChainName = (typeof LOCAL_CHAIN_NAMES)[number];

export interface LocalChain {
  readonly chainId: number;
  readonly rpcUrl: string;
}

export interface LocalRoles {
  /** Deploys everything, mints the stablecoins, and owns the third-party contracts. */
  readonly deployer: Account;
  readonly proxyAdmin: Address;
  /** Owns the protocol's Safe on each chain. */
  readonly safeOwner: Address;
  readonly guardian: Address;
  readonly settler: Address;
  /** {@link NO_RECEIPT_KEY} if absent. */
  readonly receiptKey?: Hex;
  readonly verifierKeys: readonly [Address, Address];
}

export interface PrepareLocalChainsOptions {
  readonly chains: Readonly<Record<LocalChainName, LocalChain>>;
  readonly roles: LocalRoles;
  /** Block confirmations of a message. */
  readonly confirmations: number;
}

export interface LocalWorld {
  readonly config: DeploymentConfig;
  readonly sites: Readonly<Record<LocalChainName, LocalSite>>;
}

/** The third-party contracts of a chain. */
export interface LocalSite extends UniswapContracts, SafeContracts {
  readonly chain: LocalChain;
  /** LayerZero's id; on a local chain it is the chain id. */
  readonly eid: number;
  readonly stablecoin: Address;
  readonly stablecoinDecimals: 6 | 18;
  readonly stakingToken: Address;
  readonly protocolSafe: Address;
  readonly layerZero: LayerZeroAddresses;
  readonly dollarPool: Address;
}

/** Dollars that the bridge's pool on the primary chain can pay before it must be refilled. */
const LIQUIDITY_DOLLARS = 1_000_000n;
/** The market of the staking-derived token: 1,000 of it at 300 dollars. */
const MARKET = { tokens: 1_000n, dollars: 300_000n, feeTier: 3000, observations: 200 } as const;
const LISTING = { feeTier: MARKET.feeTier, window: 1_800, slippageTicks: 100 } as const;
const DAILY_MINT_CAP = 100_000_000_000n;
const MESSAGE_GAS = 150_000n;
const MAX_MESSAGE_BYTES = 10_000;

export async function prepareLocalChains(options: PrepareLocalChainsOptions): Promise<LocalWorld> {
  const { chains, roles, confirmations } = options;
  const holders = { deployer: roles.deployer.address, guardian: roles.guardian, settler: roles.settler };
  for (const { chainId } of Object.values(chains)) refuseDevelopmentKeys(chainId, holders);
  const entries = await Promise.all(
    LOCAL_CHAIN_NAMES.map(async (name) => [name, await prepareSite(options, name)] as const),
  );
  const pools = await deployDollarPools(
    roles.deployer,
    entries.map(([, { chain, eid, stablecoin, layerZero }]) => {
      return { rpcUrl: chain.rpcUrl, eid, dollar: stablecoin, endpoint: layerZero.endpoint };
    }),
  );
  const sites = Object.fromEntries(
    entries.map(([name, site], index) => [name, { ...site, dollarPool: pools[index] ?? "0x" }]),
  ) as Record<LocalChainName, LocalSite>;
  await fundDollars(sites.primary, {
    issuer: roles.deployer,
    to: sites.primary.dollarPool,
    dollars: LIQUIDITY_DOLLARS,
  });
  return { config: configOf(sites, { roles, confirmations }), sites };
}

export interface FundDollarsOptions {
  readonly issuer: Account;
  readonly to: Address;
  readonly dollars: bigint;
}

/** Mints whole dollars of a local chain's stablecoin. */
export async function fundDollars(
  { chain: { rpcUrl }, stablecoin, stablecoinDecimals }: Pick<LocalSite, "chain" | "stablecoin" | "stablecoinDecimals">,
  { issuer, to, dollars }: FundDollarsOptions,
): Promise<void> {
  const amount = dollars * 10n ** BigInt(stablecoinDecimals);
  if (stablecoinDecimals === 18) await fundLocalToken({ rpcUrl, token: stablecoin, issuer, to, amount });
  else await fundUsdc({ rpcUrl, usdc: stablecoin, masterMinter: issuer, to, amount });
}

async function prepareSite(
  { chains, roles, confirmations }: PrepareLocalChainsOptions,
  name: LocalChainName,
): Promise<Omit<LocalSite, "dollarPool">> {
  const chain = chains[name];
  const { rpcUrl, chainId: eid } = chain;
  const { deployer, proxyAdmin, verifierKeys } = roles;
  const remoteEids = LOCAL_CHAIN_NAMES.filter((other) => other !== name).map((other) => chains[other].chainId);
  const layerZero = await deployLayerZero({
    ...{ rpcUrl, deployer, eid, remoteEids, verifierKeys },
    confirmations: BigInt(confirmations),
  });
  const isLocalDollar = name === "secondary1";
  const stablecoin = isLocalDollar
    ? await deployLocalToken({ rpcUrl, issuer: deployer, name: "Local Dollar", symbol: "USDL" })
    : await deployUsdc({ rpcUrl, deployer, proxyAdmin });
  const safe = await deploySafeContracts(rpcUrl, deployer);
  const protocolSafe = await createSafe({ rpcUrl, account: deployer, contracts: safe, owner: roles.safeOwner });
  const uniswap = await deployUniswap(rpcUrl, deployer);
  const stakingToken = await deployLocalToken({ rpcUrl, issuer: deployer, name: "Staking Unit", symbol: "UNIT" });
  const site = { chain, eid, stablecoin, stakingToken, protocolSafe, layerZero, ...safe, ...uniswap };
  const withDollar = { ...site, stablecoinDecimals: isLocalDollar ? 18 : 6 } as const;
  await openMarket(withDollar, deployer);
  return withDollar;
}

async function openMarket(site: Omit<LocalSite, "dollarPool">, account: Account): Promise<void> {
  const { chain, stakingToken, stablecoin, stablecoinDecimals, positionManager } = site;
  const amount = parseEther(String(MARKET.tokens));
  await fundLocalToken({ rpcUrl: chain.rpcUrl, token: stakingToken, issuer: account, to: account.address, amount });
  await fundDollars(site, { issuer: account, to: account.address, dollars: MARKET.dollars });
  await seedPool({
    ...{ rpcUrl: chain.rpcUrl, account, positionManager, feeTier: MARKET.feeTier, observations: MARKET.observations },
    amounts: [
      { token: stakingToken, amount },
      { token: stablecoin, amount: MARKET.dollars * 10n ** BigInt(stablecoinDecimals) },
    ],
  });
}

function configOf(
  sites: Readonly<Record<LocalChainName, LocalSite>>,
  { roles, confirmations }: Omit<PrepareLocalChainsOptions, "chains">,
): DeploymentConfig {
  const chainConfig = (name: LocalChainName): ChainConfig => {
    const { chain, eid, layerZero, stablecoin, stakingToken, protocolSafe, dollarPool, ...others } = sites[name];
    const { safeProxyFactory, safeSingleton, safeFallbackHandler, uniswapFactory } = others;
    const uniswap = { uniswapFactory, uniswapPositionManager: others.positionManager };
    const listings: ListingConfig[] = [{ token: stakingToken, ...LISTING }];
    return {
      chainId: chain.chainId,
      stablecoin,
      proposer: protocolSafe,
      guardian: roles.guardian,
      layerZero: { eid, ...layerZero, confirmations, maxMessageBytes: MAX_MESSAGE_BYTES },
      agents: { stakingToken, ...uniswap, safeProxyFactory, safeSingleton, safeFallbackHandler, listings },
      ...(name === "primary"
        ? {
            primary: { settler: roles.settler, provider: protocolSafe, receiptKey: roles.receiptKey ?? NO_RECEIPT_KEY },
          }
        : { dollarOft: dollarPool, dollarOftOnPrimary: sites.primary.dollarPool }),
    };
  };
  return {
    deployer: roles.deployer.address,
    timelockDelaySeconds: MIN_TIMELOCK_SECONDS,
    dailyMintCap: DAILY_MINT_CAP,
    messageGas: MESSAGE_GAS,
    chains: Object.fromEntries(LOCAL_CHAIN_NAMES.map((name) => [name, chainConfig(name)])),
  };
}
