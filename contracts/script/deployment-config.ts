/** The configuration file of a deployment on all chains; docs/deploying-contracts.md explains it. */
import { type Address, zeroAddress } from "viem";
import { type JsonReader, readJson } from "./json-reader.ts";

export interface DeploymentConfig {
  /** Pays for the deployment and owns the factories until they are sealed; has no role afterwards. */
  readonly deployer: Address;
  /** The delay of the timelocks. */
  readonly timelockDelaySeconds: bigint;
  /** The daily mint cap of each secondary chain, in token units. */
  readonly dailyMintCap: bigint;
  /** The gas paid for the delivery of each bridge message. */
  readonly messageGas: bigint;
  /** By name, which is used in messages and files. Exactly one has `primary`, and is the primary chain. */
  readonly chains: Readonly<Record<string, ChainConfig>>;
}

export interface ChainConfig {
  readonly chainId: number;
  /** The stablecoin of the chain. */
  readonly stablecoin: Address;
  /** Proposes and cancels operations of the timelock: the protocol's Safe. */
  readonly proposer: Address;
  /** Lowers the ceiling, revokes the settler and pauses the bridge, without delay. */
  readonly guardian: Address;
  /** On the primary chain only. */
  readonly primary?: PrimaryConfig | undefined;
  /** Required if there is more than one chain. */
  readonly layerZero?: LayerZeroConfig | undefined;
  /** On a secondary chain: the LayerZero OFT that bridges its dollars to the primary chain. */
  readonly dollarOft?: Address | undefined;
  /** Required with `dollarOft`: its counterpart on the primary chain, which pays in the stablecoin of that chain. */
  readonly dollarOftOnPrimary?: Address | undefined;
  /** Absent if the chain has no agents. */
  readonly agents?: AgentsConfig | undefined;
}

export interface PrimaryConfig {
  /** Posts batches of uses. */
  readonly settler: Address;
  /** Is paid for uses that the protocol's account served. */
  readonly provider: Address;
}

export interface LayerZeroConfig {
  readonly eid: number;
  readonly endpoint: Address;
  readonly sendLibrary: Address;
  readonly receiveLibrary: Address;
  readonly executor: Address;
  /** At least two contracts on this chain, of independent operators; all must verify a message. */
  readonly verifiers: readonly Address[];
  /** Block confirmations of a message of this chain before it is verified elsewhere. */
  readonly confirmations: number;
  readonly maxMessageBytes: number;
}

export interface AgentsConfig {
  readonly stakingToken: Address;
  readonly uniswapFactory: Address;
  readonly safeProxyFactory: Address;
  readonly safeSingleton: Address;
  readonly safeFallbackHandler: Address;
  /** Initial listings of fee tokens; the pools must exist. */
  readonly listings: readonly ListingConfig[];
}

export interface ListingConfig {
  readonly token: Address;
  /** As in Uniswap, in hundredths of a basis point. */
  readonly feeTier: number;
  /** Seconds over which the price is averaged. */
  readonly window: number;
  /** The maximum slippage from the mean price, in ticks of 0.01 %. */
  readonly slippageTicks: number;
}

/** Parses the file's text. Throws {@link DeploymentConfigError} with all errors. */
export function parseDeploymentConfig(text: string): DeploymentConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DeploymentConfigError([`The file is not JSON: ${String(error)}.`]);
  }
  const wrong: string[] = [];
  const config = readJson(value, wrong, readConfig);
  if (wrong.length > 0) throw new DeploymentConfigError(wrong);
  checkDeploymentConfig(config);
  return config;
}

/** The minimum gas for any bridge message: the most expensive first delivery, rounded up, as its test reads it. */
export const MIN_MESSAGE_GAS = 140_000n;
/** The bridge stores the cap in 96 bits. */
const MAX_DAILY_MINT_CAP = 2n ** 96n - 1n;
/**
 * A delay given in hours would be almost zero; one given in milliseconds would block every operation. The longest pause
 * of the bridge is as long as the maximum: a hostile guardian can be replaced before its pause ends.
 */
export const MIN_TIMELOCK_SECONDS = 48n * 3_600n;
const MAX_TIMELOCK_SECONDS = 7n * 86_400n;
/** The size of a bridge message. */
const MIN_MESSAGE_BYTES = 53;

/** Throws {@link DeploymentConfigError} with every rule that the configuration violates. */
export function checkDeploymentConfig(config: DeploymentConfig): void {
  const wrong = [
    ...wrongTerms(config),
    ...wrongChains(config),
    ...Object.entries(config.chains).flatMap((entry) => wrongChain(config, entry)),
  ];
  if (wrong.length > 0) throw new DeploymentConfigError(wrong);
}

function readConfig(at: JsonReader): DeploymentConfig {
  return {
    deployer: at.address("deployer"),
    timelockDelaySeconds: BigInt(at.count("timelockDelaySeconds")),
    dailyMintCap: at.amount("dailyMintCap"),
    messageGas: BigInt(at.count("messageGas")),
    chains: at.record("chains", (chains, name) => chains.inside(name, readChain)),
  };
}

function readChain(at: JsonReader): ChainConfig {
  return {
    chainId: at.count("chainId"),
    stablecoin: at.address("stablecoin"),
    proposer: at.address("proposer"),
    guardian: at.address("guardian"),
    primary: at.optional("primary", (primary) => ({
      settler: primary.address("settler"),
      provider: primary.address("provider"),
    })),
    layerZero: at.optional("layerZero", readLayerZero),
    dollarOft: at.has("dollarOft") ? at.address("dollarOft") : undefined,
    dollarOftOnPrimary: at.has("dollarOftOnPrimary") ? at.address("dollarOftOnPrimary") : undefined,
    agents: at.optional("agents", readAgents),
  };
}

function readLayerZero(at: JsonReader): LayerZeroConfig {
  return {
    eid: at.count("eid"),
    endpoint: at.address("endpoint"),
    sendLibrary: at.address("sendLibrary"),
    receiveLibrary: at.address("receiveLibrary"),
    executor: at.address("executor"),
    verifiers: at.list("verifiers", (verifiers, index) => verifiers.address(index)),
    confirmations: at.count("confirmations"),
    maxMessageBytes: at.count("maxMessageBytes"),
  };
}

function readAgents(at: JsonReader): AgentsConfig {
  return {
    stakingToken: at.address("stakingToken"),
    uniswapFactory: at.address("uniswapFactory"),
    safeProxyFactory: at.address("safeProxyFactory"),
    safeSingleton: at.address("safeSingleton"),
    safeFallbackHandler: at.address("safeFallbackHandler"),
    listings: at.list("listings", (listings, index) =>
      listings.inside(index, (listing) => ({
        token: listing.address("token"),
        feeTier: listing.count("feeTier"),
        window: listing.count("window"),
        slippageTicks: listing.count("slippageTicks"),
      })),
    ),
  };
}

/** Errors in settings that cannot be changed later, or only by a timelock with a wrong delay. */
function wrongTerms({ timelockDelaySeconds, dailyMintCap, messageGas, chains }: DeploymentConfig): string[] {
  const wrong: string[] = [];
  if (timelockDelaySeconds < MIN_TIMELOCK_SECONDS || timelockDelaySeconds > MAX_TIMELOCK_SECONDS) {
    wrong.push(`timelockDelaySeconds must be from ${MIN_TIMELOCK_SECONDS} (48 hours) to ${MAX_TIMELOCK_SECONDS}.`);
  }
  if (Object.keys(chains).length === 1) return wrong;
  if (dailyMintCap === 0n || dailyMintCap > MAX_DAILY_MINT_CAP) {
    wrong.push("dailyMintCap must be above zero and below 2^96: with zero nothing could be sent to a secondary chain.");
  }
  if (messageGas < MIN_MESSAGE_GAS) wrong.push(`messageGas must be at least ${MIN_MESSAGE_GAS}.`);
  return wrong;
}

function wrongChains({ chains }: DeploymentConfig): string[] {
  const all = Object.values(chains);
  const wrong: string[] = [];
  if (all.filter(({ primary }) => primary !== undefined).length !== 1) {
    wrong.push("Exactly one chain must have a primary: it is the primary chain.");
  }
  if (new Set(all.map(({ chainId }) => chainId)).size < all.length) wrong.push("Two chains have the same chainId.");
  const eids = all.flatMap(({ layerZero }) => (layerZero === undefined ? [] : [layerZero.eid]));
  if (new Set(eids).size < eids.length) wrong.push("Two chains have the same layerZero.eid.");
  return wrong;
}

function wrongChain(config: DeploymentConfig, [name, chain]: [string, ChainConfig]): string[] {
  const { primary, layerZero } = chain;
  const isOneOfMany = Object.keys(config.chains).length > 1;
  const wrong: string[] = [];
  const refuse = (isWrong: boolean, what: string): void => void (isWrong && wrong.push(`chains.${name}${what}`));
  refuse(isOneOfMany && layerZero === undefined, ".layerZero must be given, where there is more than one chain.");
  for (const field of ["dollarOft", "dollarOftOnPrimary"] as const) {
    const isGiven = chain[field] !== undefined;
    refuse(primary === undefined && !isGiven, `.${field} must be given, on a secondary chain.`);
    refuse(primary !== undefined && isGiven, `.${field} has no place on the primary chain.`);
  }
  if (layerZero !== undefined) {
    const { verifiers, confirmations, maxMessageBytes } = layerZero;
    const distinct = new Set(verifiers.map((verifier) => verifier.toLowerCase())).size;
    refuse(
      verifiers.length < 2 || distinct < verifiers.length,
      ".layerZero.verifiers must be two or more different ones.",
    );
    // LayerZero reads zero as its default, which its owner may change.
    refuse(confirmations === 0, ".layerZero.confirmations must be at least 1.");
    refuse(
      maxMessageBytes < MIN_MESSAGE_BYTES,
      `.layerZero.maxMessageBytes must be at least ${MIN_MESSAGE_BYTES}, which a message of ours takes.`,
    );
  }
  // Someone who steals the settler's key must not be paid and must not be able to keep the role.
  const { settler, ...others } = roleHolders(chain);
  for (const [role, holder] of Object.entries(others)) {
    refuse(holder.toLowerCase() === settler?.toLowerCase(), `: the settler is the ${role}, too.`);
  }
  // Each limits what a thief of the other's key can do.
  refuse(chain.guardian.toLowerCase() === chain.proposer.toLowerCase(), ": the guardian is the proposer, too.");
  for (const [role, holder] of Object.entries(roleHolders(chain))) {
    const isDeployer = holder.toLowerCase() === config.deployer.toLowerCase();
    refuse(isDeployer, `: the ${role} is the deployer, who must have no power afterwards.`);
    // The guardian may have revoked the settler since; the file then says so.
    refuse(role !== "settler" && holder === zeroAddress, `: the ${role} is nobody.`);
  }
  return wrong;
}

/** The holders of roles on a chain, by the field that names them. */
export function roleHolders({ proposer, guardian, primary }: ChainConfig): Record<string, Address> {
  const { settler, provider } = primary ?? {};
  return {
    proposer,
    guardian,
    ...(settler === undefined ? {} : { settler }),
    ...(provider === undefined ? {} : { provider }),
  };
}

export class DeploymentConfigError extends Error {
  override readonly name = "DeploymentConfigError";

  constructor(wrong: readonly string[]) {
    super(wrong.join(" "));
  }
}
