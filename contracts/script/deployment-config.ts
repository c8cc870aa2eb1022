/** The configuration file of a deployment on all chains; docs/deploying-contracts.md explains it. */
import { type Address, keccak256, stringToHex, zeroAddress } from "viem";
import type * as z from "zod";
import { address, amount, count, fields, key, listOf, recordOf, sentencesOf } from "./json-fields.ts";

const layerZeroConfig = fields({
  eid: count,
  endpoint: address,
  sendLibrary: address,
  receiveLibrary: address,
  executor: address,
  /** At least two contracts on this chain, of independent operators; all must verify a message. */
  verifiers: listOf(address),
  /** Block confirmations of a message of this chain before it is verified elsewhere. */
  confirmations: count,
  maxMessageBytes: count,
});

const listingConfig = fields({
  token: address,
  /** As in Uniswap, in hundredths of a basis point. */
  feeTier: count,
  /** Seconds over which the price is averaged. */
  window: count,
  /** The maximum slippage, in ticks of 0.01 %. */
  slippageTicks: count,
});

const chainConfig = fields({
  chainId: count,
  /** The stablecoin of the chain. */
  stablecoin: address,
  /** Proposes and cancels operations of the timelock: the protocol's Safe. */
  proposer: address,
  /** Lowers the ceiling, revokes the settler and pauses the bridge, without delay. */
  guardian: address,
  /**
   * On the primary chain only. The settler posts chunks; the provider is paid for uses that the protocol's account
   * served; the receipt key is the public key with which the gateway signs receipts.
   */
  primary: fields({ settler: address, provider: address, receiptKey: key }).optional(),
  /** Required if there is more than one chain. */
  layerZero: layerZeroConfig.optional(),
  /** On a secondary chain: the LayerZero OFT that bridges its dollars to the primary chain. */
  dollarOft: address.optional(),
  /** Required with `dollarOft`: its counterpart on the primary chain, which pays in the stablecoin of that chain. */
  dollarOftOnPrimary: address.optional(),
  /** Absent if the chain has no agents. */
  agents: fields({
    stakingToken: address,
    uniswapFactory: address,
    /** Uniswap's NonfungiblePositionManager. */
    uniswapPositionManager: address,
    safeProxyFactory: address,
    safeSingleton: address,
    safeFallbackHandler: address,
    /** Initial listings of fee tokens; the pools must exist. */
    listings: listOf(listingConfig),
  }).optional(),
});

const deploymentConfig = fields({
  /** Pays for the deployment and owns the factories until they are sealed; has no role afterwards. */
  deployer: address,
  /** The delay of the timelocks. */
  timelockDelaySeconds: count.transform(BigInt),
  /** The daily mint cap of each secondary chain, in token units. */
  dailyMintCap: amount,
  /** The gas paid for the delivery of each bridge message. */
  messageGas: count.transform(BigInt),
  /** By name, which is used in messages and files. Exactly one has `primary`, and is the primary chain. */
  chains: recordOf(chainConfig),
});

/** The receipt key of a local deployment that names none. */
export const NO_RECEIPT_KEY = keccak256(stringToHex("signs nothing"));

export type DeploymentConfig = z.output<typeof deploymentConfig>;
export type ChainConfig = z.output<typeof chainConfig>;
export type LayerZeroConfig = z.output<typeof layerZeroConfig>;
export type AgentsConfig = NonNullable<ChainConfig["agents"]>;
export type ListingConfig = z.output<typeof listingConfig>;

/** Parses the file's text. Throws {@link DeploymentConfigError} with all errors. */
export function parseDeploymentConfig(text: string): DeploymentConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DeploymentConfigError([`The file is not JSON: ${String(error)}.`]);
  }
  const read = deploymentConfig.safeParse(value);
  if (!read.success) throw new DeploymentConfigError(sentencesOf(read.error));
  checkDeploymentConfig(read.data);
  return read.data;
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
  // Each role limits a thief of the other's key.
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
