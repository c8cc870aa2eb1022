/** The one file that a deployment is described by, on all chains at once: docs/deploying-contracts.md explains it. */
import { type Address, zeroAddress } from "viem";
import { type JsonReader, readJson } from "./json-reader.ts";

export interface DeploymentConfig {
  /** Pays for everything and owns the factories until they are sealed; has no power afterwards. */
  readonly deployer: Address;
  /** What a timelock waits before it does what was proposed. */
  readonly timelockDelaySeconds: bigint;
  /** What transfers may mint on a secondary chain in a UTC day, in token units. */
  readonly dailyMintCap: bigint;
  /** What each message between bridges pays for to be received. */
  readonly messageGas: bigint;
  /** By a name that is used in messages and files. One has a `primary`, and is the primary chain. */
  readonly chains: Readonly<Record<string, ChainConfig>>;
}

export interface ChainConfig {
  readonly chainId: number;
  /** The chain's dollar. */
  readonly stablecoin: Address;
  /** Proposes to the timelock and cancels there: the protocol's Safe. */
  readonly proposer: Address;
  /** Lowers, revokes and pauses, at once. */
  readonly guardian: Address;
  /** On the primary chain alone. */
  readonly primary?: PrimaryConfig | undefined;
  /** Required where there is more than one chain. */
  readonly layerZero?: LayerZeroConfig | undefined;
  /** On a secondary chain: the LayerZero OFT that carries its dollars to the primary chain. */
  readonly dollarOft?: Address | undefined;
  /** Given with it: its counterpart on the primary chain, which pays there in that chain's dollar. */
  readonly dollarOftOnPrimary?: Address | undefined;
  /** Absent: no agents are born on the chain. */
  readonly agents?: AgentsConfig | undefined;
}

export interface PrimaryConfig {
  /** Posts batches of uses. */
  readonly settler: Address;
  /** Is paid for what the protocol's account at the provider serves. */
  readonly provider: Address;
}

export interface LayerZeroConfig {
  readonly eid: number;
  readonly endpoint: Address;
  readonly sendLibrary: Address;
  readonly receiveLibrary: Address;
  readonly executor: Address;
  /** At least two contracts on this chain, of operators that have nothing to do with each other; all must verify. */
  readonly verifiers: readonly Address[];
  /** Blocks that must lie upon a message of this chain before it is verified elsewhere. */
  readonly confirmations: number;
  readonly maxMessageBytes: number;
}

export interface AgentsConfig {
  readonly stakingToken: Address;
  readonly uniswapFactory: Address;
  readonly safeProxyFactory: Address;
  readonly safeSingleton: Address;
  readonly safeFallbackHandler: Address;
  /** Fee tokens with a market from the start; the pools must stand. */
  readonly listings: readonly ListingConfig[];
}

export interface ListingConfig {
  readonly token: Address;
  /** Uniswap's, in hundredths of a basis point. */
  readonly feeTier: number;
  /** Seconds over which the price is averaged. */
  readonly window: number;
  /** How much worse than that price an exchange may be, in ticks of 0.01 %. */
  readonly slippageTicks: number;
}

/** Reads the file's text. Throws {@link DeploymentConfigError} naming all that is wrong. */
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

/** What no message between bridges can do with less: the dearest took 81,000. */
const MIN_MESSAGE_GAS = 81_000n;
/** The bridge keeps the cap in 96 bits. */
const MAX_DAILY_MINT_CAP = 2n ** 96n - 1n;
/** A wait that was meant in hours would let anything happen at once, one in milliseconds nothing ever. */
const MIN_TIMELOCK_SECONDS = 48n * 3_600n;
const MAX_TIMELOCK_SECONDS = 30n * 86_400n;
/** What a message between bridges takes. */
const MIN_MESSAGE_BYTES = 53;

/** Throws {@link DeploymentConfigError} naming every rule that the configuration breaks. */
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

/** What cannot be changed later, or by a wait only that may be wrong itself. */
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
    // Zero would mean LayerZero's default, which its owner may change.
    refuse(confirmations === 0, ".layerZero.confirmations must be at least 1.");
    refuse(
      maxMessageBytes < MIN_MESSAGE_BYTES,
      `.layerZero.maxMessageBytes must be at least ${MIN_MESSAGE_BYTES}, which a message of ours takes.`,
    );
  }
  // Whoever steals the settler's key must neither be paid nor be able to keep it.
  const { settler, ...others } = roleHolders(chain);
  for (const [role, holder] of Object.entries(others)) {
    refuse(holder.toLowerCase() === settler?.toLowerCase(), `: the settler is the ${role}, too.`);
  }
  for (const [role, holder] of Object.entries(roleHolders(chain))) {
    const isDeployer = holder.toLowerCase() === config.deployer.toLowerCase();
    refuse(isDeployer, `: the ${role} is the deployer, who must have no power afterwards.`);
    // The guardian may have revoked the settler since: then the file says so.
    refuse(role !== "settler" && holder === zeroAddress, `: the ${role} is nobody.`);
  }
  return wrong;
}

/** Who gets a power on a chain, by the field that names them. */
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
