/** The deployment plan: each contract with its address and creation code, before anything is sent. */
import {
  type Address,
  concatHex,
  encodeDeployData,
  getContractAddress,
  type Hex,
  parseAbi,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { built } from "../generated/all.ts";
import type { AgentsConfig, ChainConfig, DeploymentConfig } from "./deployment-config.ts";
import { ascending } from "./layerzero-options.ts";
import { npmCreationCode } from "./npm-artifact.ts";

/** The keyless CREATE2 deployer, which has the same address on every chain. */
export const CREATE2_DEPLOYER: Address = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

export interface ChainPlan {
  readonly name: string;
  readonly chain: ChainConfig;
  readonly factory: Address;
  /** The call data with which the CREATE2 deployer creates the factory. */
  readonly factoryData: Hex;
  /** In the order of deployment. */
  readonly contracts: readonly PlannedContract[];
}

export interface PlannedContract {
  /**
   * The contract's name, which is also its salt. If a chain has several of a kind, the name ends with an endpoint id.
   */
  readonly name: string;
  readonly address: Address;
  /** Including the constructor arguments. */
  readonly creationCode: Hex;
}

/** The plan of each chain. The addresses depend on the deployer alone. */
export function planDeployment(config: DeploymentConfig): ChainPlan[] {
  return Object.entries(config.chains).map(([name, chain]) => planChain(config, name, chain));
}

/** The address of a planned contract; `address(0)` if the chain does not have it. */
export function addressIn({ contracts }: Pick<ChainPlan, "contracts">, name: string): Address {
  return contracts.find((contract) => contract.name === name)?.address ?? zeroAddress;
}

/** All addresses of a chain, by the names that programs use: `inferenceToken`, `backingInbox31338`. */
export function addressesOf({ factory, contracts, chain }: ChainPlan): Record<string, Address> {
  const key = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1).replace("-", "");
  return {
    create3Factory: factory,
    ...Object.fromEntries(contracts.map(({ name, address }) => [key(name), address])),
    stablecoin: chain.stablecoin,
  };
}

/** The pathways of a chain: each connects it with another chain, in both directions. */
export function pathwaysOf(config: DeploymentConfig, chain: ChainConfig): { there: ChainConfig; eid: number }[] {
  // Secondary chains are connected to the primary chain only.
  return Object.values(config.chains).flatMap((there) =>
    there === chain || there.layerZero === undefined || (there.primary === undefined && chain.primary === undefined)
      ? []
      : [{ there, eid: there.layerZero.eid }],
  );
}

function planChain(config: DeploymentConfig, name: string, chain: ChainConfig): ChainPlan {
  const factoryCode = encodeDeployData({ ...built.Create3Factory, args: [config.deployer] });
  const factory = getContractAddress({
    opcode: "CREATE2",
    from: CREATE2_DEPLOYER,
    salt: zeroHash,
    bytecode: factoryCode,
  });
  const names = contractNames(config, chain);
  const at = (contract: string): Address =>
    names.includes(contract) ? create3Address(factory, contract) : zeroAddress;
  const codes: Record<string, Hex> = {
    ...everywhere(config, chain, at),
    ...payments(chain, at),
    ...onOneSide(config, chain, factory),
    ...agents(chain, at),
  };
  const contracts = names.map((contract) => {
    const creationCode = codes[contract];
    if (creationCode === undefined) throw new TypeError(`there is no code of ${contract}`);
    return { name: contract, address: at(contract), creationCode };
  });
  return { name, chain, factory, factoryData: concatHex([zeroHash, factoryCode]), contracts };
}

/** In the order of deployment. Any order works: no constructor calls another contract of ours. */
function contractNames(config: DeploymentConfig, chain: ChainConfig): string[] {
  const isPrimary = chain.primary !== undefined;
  const inboxes = isPrimary ? pathwaysOf(config, chain).map(({ eid }) => inboxName(eid)) : [];
  return [
    "TimelockController",
    "InferenceToken",
    "TokenMinter",
    ...(chain.layerZero === undefined ? [] : ["TokenBridge"]),
    ...(isPrimary ? ["InferenceSettlement", ...inboxes] : [adapterName(chain), "TokenBackingOutbox"]),
    ...PAYMENTS,
    ...(chain.agents === undefined
      ? []
      : [
          ...(isPrimary ? ["InferencePool"] : []),
          "AgentRegistry",
          "BackerVault",
          "AgentFeeConverter",
          "AgentFeeLocker",
        ]),
  ];
}

/** The contracts through which somebody else sends a payer's transaction. */
const PAYMENTS = ["X402Door", "GaslessTopUp", "StandingOrders"] as const;

type At = (contract: string) => Address;

function everywhere(config: DeploymentConfig, chain: ChainConfig, at: At): Record<string, Hex> {
  const { proposer, guardian, stablecoin, primary } = chain;
  const wiring = {
    token: at("InferenceToken"),
    minter: at("TokenMinter"),
    bridge: at("TokenBridge"),
    pool: at("InferencePool"),
    registry: at("AgentRegistry"),
    timelock: at("TimelockController"),
    guardian,
    settler: primary?.settler ?? zeroAddress,
    provider: primary?.provider ?? zeroAddress,
    receiptKey: primary?.receiptKey ?? zeroHash,
  };
  const inboxes = pathwaysOf(config, chain).map(({ eid }) => ({ eid, inbox: at(inboxName(eid)) }));
  return {
    TimelockController: encodeDeployData({
      abi: timelockConstructorAbi,
      bytecode: npmCreationCode("@openzeppelin/contracts/build/contracts/TimelockController.json"),
      // Anyone may execute an operation whose delay has passed; only the timelock administers itself.
      args: [config.timelockDelaySeconds, [proposer], [zeroAddress], zeroAddress],
    }),
    InferenceToken: encodeDeployData({
      ...built.InferenceToken,
      args: [at("TokenMinter"), at("TokenBridge"), at("InferenceSettlement")],
    }),
    TokenMinter: encodeDeployData({
      ...built.TokenMinter,
      args: [
        at("InferenceToken"),
        stablecoin,
        at("InferenceSettlement"),
        at("TokenBackingOutbox"),
        at("TokenBridge"),
        primary === undefined ? [] : inboxes,
      ],
    }),
    TokenBridge: encodeDeployData({ ...built.TokenBridge, args: [bridgeWiring(config, chain, at)] }),
    InferenceSettlement: encodeDeployData({ ...built.InferenceSettlement, args: [wiring] }),
  };
}

function bridgeWiring(config: DeploymentConfig, chain: ChainConfig, at: At) {
  const { layerZero, guardian, primary } = chain;
  return {
    endpoint: layerZero?.endpoint ?? zeroAddress,
    token: at("InferenceToken"),
    minter: primary === undefined ? zeroAddress : at("TokenMinter"),
    settlement: at("InferenceSettlement"),
    timelock: at("TimelockController"),
    guardian,
    dailyMintCap: config.dailyMintCap,
    receiveGas: config.messageGas,
    pathways: pathwaysOf(config, chain).map(({ there, eid }) => ({
      eid,
      // The same address on every chain.
      peer: at("TokenBridge"),
      sendLibrary: layerZero?.sendLibrary ?? zeroAddress,
      receiveLibrary: layerZero?.receiveLibrary ?? zeroAddress,
      executor: layerZero?.executor ?? zeroAddress,
      maxMessageSize: layerZero?.maxMessageBytes ?? 0,
      sendConfirmations: BigInt(layerZero?.confirmations ?? 0),
      receiveConfirmations: BigInt(there.layerZero?.confirmations ?? 0),
      verifiers: ascending(layerZero?.verifiers ?? []),
    })),
  };
}

function payments({ stablecoin, primary }: ChainConfig, at: At): Record<(typeof PAYMENTS)[number], Hex> {
  const activationBridge = primary === undefined ? at("TokenBridge") : zeroAddress;
  const args = [at("TokenMinter"), stablecoin, activationBridge] as const;
  return {
    X402Door: encodeDeployData({ ...built.X402Door, args }),
    GaslessTopUp: encodeDeployData({ ...built.GaslessTopUp, args }),
    StandingOrders: encodeDeployData({ ...built.StandingOrders, args }),
  };
}

/** The inboxes on the primary chain; the outbox and its adapter on a secondary chain. */
function onOneSide(config: DeploymentConfig, chain: ChainConfig, factory: Address): Record<string, Hex> {
  const at = (contract: string): Address => create3Address(factory, contract);
  const { stablecoin, dollarOft } = chain;
  if (chain.primary !== undefined) {
    const code = encodeDeployData({ ...built.BackingInbox, args: [stablecoin, at("TokenMinter")] });
    return Object.fromEntries(pathwaysOf(config, chain).map(({ eid }) => [inboxName(eid), code]));
  }
  const [toPrimary] = pathwaysOf(config, chain);
  const inbox = at(inboxName(chain.layerZero?.eid ?? 0));
  return {
    [adapterName(chain)]: encodeDeployData({
      ...built.OftDollarBridge,
      args: [dollarOft ?? zeroAddress, toPrimary?.eid ?? 0, inbox, "0x"],
    }),
    TokenBackingOutbox: encodeDeployData({
      ...built.TokenBackingOutbox,
      args: [at("TokenMinter"), stablecoin, at("TimelockController"), at(adapterName(chain))],
    }),
  };
}

function agents({ agents: config, stablecoin }: ChainConfig, at: At): Record<string, Hex> {
  if (config === undefined) return {};
  const { stakingToken, uniswapFactory, listings }: AgentsConfig = config;
  return {
    InferencePool: encodeDeployData({ ...built.InferencePool, args: [stakingToken] }),
    AgentRegistry: encodeDeployData({
      ...built.AgentRegistry,
      args: [
        at("InferencePool"),
        at("AgentFeeConverter"),
        config.safeProxyFactory,
        config.safeSingleton,
        config.safeFallbackHandler,
      ],
    }),
    BackerVault: encodeDeployData({
      ...built.BackerVault,
      args: [at("InferenceToken"), stakingToken, at("InferencePool"), at("AgentRegistry"), at("AgentFeeConverter")],
    }),
    AgentFeeConverter: encodeDeployData({
      ...built.AgentFeeConverter,
      args: [
        at("AgentRegistry"),
        at("BackerVault"),
        at("TokenMinter"),
        stablecoin,
        uniswapFactory,
        at("TimelockController"),
        listings,
      ],
    }),
    AgentFeeLocker: encodeDeployData({
      ...built.AgentFeeLocker,
      args: [
        at("AgentRegistry"),
        at("AgentFeeConverter"),
        at("InferencePool"),
        stablecoin,
        stakingToken,
        config.uniswapPositionManager,
      ],
    }),
  };
}

export function inboxName(eid: number): string {
  return `BackingInbox-${eid}`;
}

export function adapterName({ layerZero }: ChainConfig): string {
  return `OftDollarBridge-${layerZero?.eid ?? 0}`;
}

/** The salt of a contract is its name. */
export function salt(contract: string): Hex {
  return stringToHex(contract, { size: 32 });
}

/** The address at which a factory deploys a contract, the same on every chain. */
export function create3Address(factory: Address, contract: string): Address {
  const proxy = getContractAddress({
    opcode: "CREATE2",
    from: factory,
    salt: salt(contract),
    bytecodeHash: CREATE3_PROXY_CODE_HASH,
  });
  return getContractAddress({ opcode: "CREATE", from: proxy, nonce: 1n });
}

/** The hash of the proxy's creation code in OpenZeppelin's Create3. */
const CREATE3_PROXY_CODE_HASH: Hex = "0x57a34f6e879358dd76825d6700df87013ad6a3fb43c0d0c602f70a8772c153bd";

const timelockConstructorAbi = parseAbi([
  "constructor(uint256 minDelay, address[] proposers, address[] executors, address admin)",
]);
