/** Deploys the contracts of a chain through one sealed factory, and reads back every wire. */
import {
  type Account,
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeDeployData,
  getContractAddress,
  type Hex,
  parseAbi,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { create3Factory } from "../generated/create3-factory.ts";
import { inferenceSettlement } from "../generated/inference-settlement.ts";
import { inferenceToken } from "../generated/inference-token.ts";
import { tokenMinter } from "../generated/token-minter.ts";
import { confirm, connectDeployer, type Deployer, DeploymentError } from "./deployer.ts";
import { refuseDevelopmentKeys } from "./development-keys.ts";
import { npmCreationCode } from "./npm-artifact.ts";
import { type PrimaryAddresses, verifyPrimary } from "./verify-primary.ts";

export { DeploymentError } from "./deployer.ts";
export { DEVELOPMENT_ADDRESSES, DevelopmentKeyError, LOCAL_CHAIN_IDS } from "./development-keys.ts";
export { type PrimaryAddresses, verifyPrimary, WiringError } from "./verify-primary.ts";

/** What a timelock waits before it does what was proposed. */
export const TIMELOCK_DELAY_SECONDS = 48n * 3600n;

/** The keyless CREATE2 deployer that stands at one address on every chain. */
const CREATE2_DEPLOYER: Address = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

const timelockConstructorAbi = parseAbi([
  "constructor(uint256 minDelay, address[] proposers, address[] executors, address admin)",
]);

export interface DeployPrimaryOptions {
  readonly rpcUrl: string;
  /** Pays for everything and owns the factory until it is sealed; has no power afterwards. */
  readonly deployer: Account;
  /** Proposes to the timelock: the protocol's Safe. */
  readonly proposer: Address;
  /** Lowers the ceiling and revokes the settler, at once. */
  readonly guardian: Address;
  /** Posts batches of uses. */
  readonly settler: Address;
  /** The primary chain's dollar. */
  readonly stablecoin: Address;
  /** {@link TIMELOCK_DELAY_SECONDS} if absent. */
  readonly timelockDelaySeconds?: bigint;
}

export interface PrimaryDeployment {
  readonly chainId: number;
  /** The block from which on events are to be read. */
  readonly block: bigint;
  readonly addresses: PrimaryAddresses;
}

type FactoryContract = "TimelockController" | "InferenceToken" | "TokenMinter" | "InferenceSettlement";

/**
 * Deploys the primary chain's contracts, or what an interrupted deployment left to do.
 * Throws {@link DevelopmentKeyError} before anything is sent, {@link DeploymentError} if the deployer has finished a
 * deployment on this chain before or a transaction reverts, {@link WiringError} if a wire does not read back as it
 * should.
 */
export async function deployPrimary(options: DeployPrimaryOptions): Promise<PrimaryDeployment> {
  const deployer = await connectDeployer({ rpcUrl: options.rpcUrl, account: options.deployer });
  const { guardian, proposer, settler, stablecoin } = options;
  refuseDevelopmentKeys(deployer.chainId, { deployer: deployer.account.address, guardian, proposer, settler });
  if (!(await hasCode(deployer, stablecoin))) {
    throw new DeploymentError(`There is no stablecoin at ${stablecoin} on chain ${deployer.chainId}.`);
  }

  const block = await deployer.reader.getBlockNumber();
  const addresses = predictPrimary(deployer.account.address, stablecoin);
  await deployFactory(deployer, addresses.create3Factory);
  for (const [name, creationCode] of Object.entries(primaryCreationCode(options, addresses))) {
    await deployThroughFactory(deployer, addresses.create3Factory, name as FactoryContract, creationCode);
  }
  await sealFactory(deployer, addresses.create3Factory);
  const delay = options.timelockDelaySeconds ?? TIMELOCK_DELAY_SECONDS;
  const terms = { deployer: deployer.account.address, guardian, proposer, settler, timelockDelaySeconds: delay };
  await verifyPrimary(deployer.reader, terms, addresses);
  return { chainId: deployer.chainId, block, addresses };
}

/** Where the contracts of a deployer stand, on every chain that has them. */
export function predictPrimary(deployer: Address, stablecoin: Address): PrimaryAddresses {
  const factory = getContractAddress({
    opcode: "CREATE2",
    from: CREATE2_DEPLOYER,
    salt: zeroHash,
    bytecode: factoryCreationCode(deployer),
  });
  return {
    create3Factory: factory,
    timelockController: create3Address(factory, "TimelockController"),
    inferenceToken: create3Address(factory, "InferenceToken"),
    tokenMinter: create3Address(factory, "TokenMinter"),
    inferenceSettlement: create3Address(factory, "InferenceSettlement"),
    stablecoin,
  };
}

/** Creation code with its arguments, in the order of deployment. */
function primaryCreationCode(options: DeployPrimaryOptions, at: PrimaryAddresses): Record<FactoryContract, Hex> {
  const { guardian, proposer, settler } = options;
  const delay = options.timelockDelaySeconds ?? TIMELOCK_DELAY_SECONDS;
  return {
    TimelockController: encodeDeployData({
      abi: timelockConstructorAbi,
      bytecode: npmCreationCode("@openzeppelin/contracts/build/contracts/TimelockController.json"),
      // Anybody may execute what has waited; nobody but the timelock itself administers it.
      args: [delay, [proposer], [zeroAddress], zeroAddress],
    }),
    InferenceToken: encodeDeployData({
      ...inferenceToken,
      args: [at.tokenMinter, zeroAddress, at.inferenceSettlement],
    }),
    TokenMinter: encodeDeployData({
      ...tokenMinter,
      args: [at.inferenceToken, at.stablecoin, at.inferenceSettlement, zeroAddress],
    }),
    InferenceSettlement: encodeDeployData({
      ...inferenceSettlement,
      args: [at.inferenceToken, at.tokenMinter, at.timelockController, guardian, settler],
    }),
  };
}

async function deployFactory(deployer: Deployer, factory: Address): Promise<void> {
  if (!(await hasCode(deployer, CREATE2_DEPLOYER))) {
    throw new DeploymentError(`Chain ${deployer.chainId} has no CREATE2 deployer at ${CREATE2_DEPLOYER}.`);
  }
  if (await hasCode(deployer, factory)) {
    const isSealed = await deployer.reader.readContract({
      address: factory,
      abi: create3Factory.abi,
      functionName: "isSealed",
    });
    if (!isSealed) return;
    throw new DeploymentError(`${deployer.account.address} has deployed on chain ${deployer.chainId} before.`);
  }
  const data = concatHex([zeroHash, factoryCreationCode(deployer.account.address)]);
  await confirm(deployer, "Create3Factory", await deployer.writer.sendTransaction({ to: CREATE2_DEPLOYER, data }));
}

async function deployThroughFactory(
  deployer: Deployer,
  factory: Address,
  name: FactoryContract,
  creationCode: Hex,
): Promise<void> {
  if (await hasCode(deployer, create3Address(factory, name))) return;
  const hash = await deployer.writer.writeContract({
    address: factory,
    abi: create3Factory.abi,
    functionName: "deploy",
    args: [salt(name), creationCode],
  });
  await confirm(deployer, name, hash);
}

async function sealFactory(deployer: Deployer, factory: Address): Promise<void> {
  const hash = await deployer.writer.writeContract({
    address: factory,
    abi: create3Factory.abi,
    functionName: "seal",
  });
  await confirm(deployer, "seal", hash);
}

async function hasCode(deployer: Deployer, address: Address): Promise<boolean> {
  return (await deployer.reader.getCode({ address })) !== undefined;
}

function factoryCreationCode(owner: Address): Hex {
  return concatHex([create3Factory.bytecode, encodeAbiParameters([{ type: "address" }], [owner])]);
}

/** The salt of a contract is its name. */
function salt(name: FactoryContract): Hex {
  return stringToHex(name, { size: 32 });
}

function create3Address(factory: Address, name: FactoryContract): Address {
  const proxy = getContractAddress({
    opcode: "CREATE2",
    from: factory,
    salt: salt(name),
    bytecodeHash: CREATE3_PROXY_CODE_HASH,
  });
  return getContractAddress({ opcode: "CREATE", from: proxy, nonce: 1n });
}

/** The hash of the proxy's creation code in OpenZeppelin's Create3. */
const CREATE3_PROXY_CODE_HASH: Hex = "0x57a34f6e879358dd76825d6700df87013ad6a3fb43c0d0c602f70a8772c153bd";
