/** The expected answer of every contract reference, library, verifier set, peer, role and owner of a deployment. */
import {
  type Abi,
  type Address,
  type ContractFunctionName,
  keccak256,
  pad,
  parseAbi,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { built } from "../generated/all.ts";
import { adapterName, addressIn, type ChainPlan, create3Address, inboxName, pathwaysOf } from "./contract-plan.ts";
import type { ChainConfig, DeploymentConfig, LayerZeroConfig } from "./deployment-config.ts";
import { ascending, receiveOptions } from "./layerzero-options.ts";

/** The expected answer of a call if the contracts are wired as configured. */
export interface Wire {
  readonly address: Address;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args?: readonly unknown[];
  /** The relevant part of an answer with several parts. */
  readonly part?: string | number;
  /** Absent where any answer is right, but a revert is not. */
  readonly expected?: unknown;
  /** For a third-party contract that may lack the function: a revert is then ignored. */
  readonly mayRevert?: true;
}

export function wiresOf(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  return [
    ...constants(config, plan),
    ...factoryAndTimelock(config, plan),
    ...dollars(config, plan),
    ...pathways(config, plan),
    ...listings(plan),
  ];
}

const abiOf: ReadonlyMap<string, Abi> = new Map(Object.entries(built).map(([name, { abi }]) => [name, abi]));
type Constant = ContractFunctionName<(typeof built)[keyof typeof built]["abi"], "view" | "pure">;

/** A function without arguments has the same answer in each contract that has it. */
function constants(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const { stablecoin, guardian, primary, layerZero, dollarOft, agents } = plan.chain;
  const at = (name: string): Address => addressIn(plan, name);
  const answers: Partial<Record<Constant, unknown>> = {
    TOKEN: at("InferenceToken"),
    MINTER: at("TokenMinter"),
    BRIDGE: at("TokenBridge"),
    ACTIVATION_BRIDGE: primary ? zeroAddress : at("TokenBridge"),
    SETTLEMENT: at("InferenceSettlement"),
    OUTBOX: at("TokenBackingOutbox"),
    POOL: at("InferencePool"),
    REGISTRY: at("AgentRegistry"),
    VAULT: at("BackerVault"),
    CONVERTER: at("AgentFeeConverter"),
    TIMELOCK: at("TimelockController"),
    STABLECOIN: stablecoin,
    STAKING_TOKEN: agents?.stakingToken,
    UNISWAP_FACTORY: agents?.uniswapFactory,
    POSITIONS: agents?.uniswapPositionManager,
    SAFE_FACTORY: agents?.safeProxyFactory,
    SAFE_SINGLETON: agents?.safeSingleton,
    SAFE_FALLBACK_HANDLER: agents?.safeFallbackHandler,
    OFT: dollarOft,
    INBOX: create3Address(plan.factory, inboxName(layerZero?.eid ?? 0)),
    adapter: at(adapterName(plan.chain)),
    PRIMARY_EID: primary ? 0 : pathwaysOf(config, plan.chain)[0]?.eid,
    DAILY_MINT_CAP: config.dailyMintCap,
    options: "0x",
    endpoint: layerZero?.endpoint,
    owner: at("TimelockController"),
    decimals: 6,
    guardian,
    settler: primary?.settler,
    provider: primary?.provider,
    receiptKey: primary?.receiptKey,
  };
  const ofBridge: typeof answers = {
    // On a secondary chain the bridge mints by itself.
    MINTER: primary ? at("TokenMinter") : zeroAddress,
    options: receiveOptions(config.messageGas),
  };
  return plan.contracts.flatMap(({ name, address }) => {
    const abi: Abi = abiOf.get(name.replace(/-\d+$/, "")) ?? [];
    const functions = abi.filter((entry) => entry.type === "function" && entry.inputs.length === 0);
    return Object.entries(name === "TokenBridge" ? { ...answers, ...ofBridge } : answers)
      .filter(([functionName]) => functions.some((entry) => "name" in entry && entry.name === functionName))
      .map(([functionName, expected]) => ({ address, abi, functionName, expected }));
  });
}

const timelockAbi = parseAbi([
  "function getMinDelay() view returns (uint256)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
]);
const ROLES = ["ADMIN", "PROPOSER", "CANCELLER", "EXECUTOR"] as const;

function factoryAndTimelock(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const factory = { address: plan.factory, abi: built.Create3Factory.abi };
  const timelock = { address: addressIn(plan, "TimelockController"), abi: timelockAbi };
  const { proposer, guardian } = plan.chain;
  const hasRole = (role: (typeof ROLES)[number], account: Address, expected: boolean): Wire => {
    const id = role === "ADMIN" ? zeroHash : keccak256(stringToHex(`${role}_ROLE`));
    return { ...timelock, functionName: "hasRole", args: [id, account], expected };
  };
  const powerless = [config.deployer, plan.factory, ...(guardian === proposer ? [] : [guardian])];
  return [
    { ...factory, functionName: "OWNER", expected: config.deployer },
    { ...factory, functionName: "isSealed", expected: true },
    { ...timelock, functionName: "getMinDelay", expected: config.timelockDelaySeconds },
    hasRole("PROPOSER", proposer, true),
    hasRole("CANCELLER", proposer, true),
    hasRole("EXECUTOR", zeroAddress, true),
    hasRole("ADMIN", timelock.address, true),
    hasRole("ADMIN", proposer, false),
    ...powerless.flatMap((account) => ROLES.map((role) => hasRole(role, account, false))),
  ];
}

/** The smallest batch of an outbox, in token units. */
const MIN_BATCH = 10_000_000n;

/**
 * Third-party contracts. An error here strands the dollars of a batch, or pays the inbox in a token that the minter
 * does not take.
 */
const oftAbi = parseAbi([
  "function token() view returns (address)",
  "function peers(uint32 eid) view returns (bytes32)",
]);

/** The bridges of the stablecoin: to the primary chain, or from each secondary chain; and the minter's inboxes. */
function dollars(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const { primary, stablecoin, dollarOft, dollarOftOnPrimary } = plan.chain;
  const minter = { address: addressIn(plan, "TokenMinter"), abi: built.TokenMinter.abi };
  const adapter = { address: addressIn(plan, adapterName(plan.chain)), abi: built.OftDollarBridge.abi };
  return pathwaysOf(config, plan.chain).flatMap(({ there, eid }): Wire[] => {
    const inbox = { ...minter, functionName: "inboxOf", args: [eid] };
    const [here, peer] = primary ? [there.dollarOftOnPrimary, there.dollarOft] : [dollarOft, dollarOftOnPrimary];
    const oft = { address: here ?? zeroAddress, abi: oftAbi };
    return [
      { ...inbox, expected: primary ? addressIn(plan, inboxName(eid)) : zeroAddress },
      primary
        ? { ...oft, functionName: "token", expected: stablecoin }
        : // Without options that the OFT's owner enforces, a bridge rejects every message, and nothing can be flushed.
          { ...adapter, functionName: "quote", args: [MIN_BATCH] },
      // An OFT stores its peers; Stargate's pools leave that to a separate contract.
      { ...oft, functionName: "peers", args: [eid], expected: pad(peer ?? zeroAddress), mayRevert: true },
    ];
  });
}

const endpointAbi = parseAbi([
  "function eid() view returns (uint32)",
  "function delegates(address oapp) view returns (address)",
  "function getSendLibrary(address oapp, uint32 eid) view returns (address)",
  "function isDefaultSendLibrary(address oapp, uint32 eid) view returns (bool)",
  "function getReceiveLibrary(address oapp, uint32 eid) view returns (address lib, bool isDefault)",
  "function receiveLibraryTimeout(address oapp, uint32 eid) view returns (address lib, uint256 expiry)",
]);

const libraryAbi = parseAbi([
  "struct UlnConfig { uint64 confirmations; uint8 requiredDVNCount; uint8 optionalDVNCount; uint8 optionalDVNThreshold; address[] requiredDVNs; address[] optionalDVNs; }",
  "function getAppUlnConfig(address oapp, uint32 eid) view returns (UlnConfig)",
  "function executorConfigs(address oapp, uint32 eid) view returns (uint32 maxMessageSize, address executor)",
]);

/** Means "none", in place of LayerZero's default. */
const NO_OPTIONAL_VERIFIERS = 255;

/** The bridge's configuration at LayerZero's endpoint and libraries. No pathway may use defaults. */
function pathways(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const { layerZero } = plan.chain;
  if (layerZero === undefined) return [];
  const address = addressIn(plan, "TokenBridge");
  const endpoint = { address: layerZero.endpoint, abi: endpointAbi };
  const delegate = addressIn(plan, "TimelockController");
  return [
    { ...endpoint, functionName: "eid", expected: layerZero.eid },
    { ...endpoint, functionName: "delegates", args: [address], expected: delegate },
    ...pathwaysOf(config, plan.chain).flatMap((pathway) => pathwayWires({ address, layerZero, ...pathway })),
  ];
}

type Pathway = { address: Address; layerZero: LayerZeroConfig; there: ChainConfig; eid: number };

function pathwayWires({ address, layerZero, there, eid }: Pathway): Wire[] {
  const bridge = { address, abi: built.TokenBridge.abi, args: [eid] };
  const endpoint = { address: layerZero.endpoint, abi: endpointAbi, args: [address, eid] };
  const sending = { address: layerZero.sendLibrary, abi: libraryAbi, args: [address, eid] };
  const receiving = { address: layerZero.receiveLibrary, abi: libraryAbi, args: [address, eid] };
  const uln = (confirmations: number) => ({
    confirmations: BigInt(confirmations),
    requiredDVNCount: layerZero.verifiers.length,
    optionalDVNCount: NO_OPTIONAL_VERIFIERS,
    optionalDVNThreshold: 0,
    requiredDVNs: ascending(layerZero.verifiers),
    optionalDVNs: [],
  });
  return [
    { ...bridge, functionName: "peers", expected: pad(address) },
    { ...endpoint, functionName: "getSendLibrary", expected: layerZero.sendLibrary },
    { ...endpoint, functionName: "isDefaultSendLibrary", expected: false },
    { ...endpoint, functionName: "getReceiveLibrary", part: 0, expected: layerZero.receiveLibrary },
    { ...endpoint, functionName: "getReceiveLibrary", part: 1, expected: false },
    { ...endpoint, functionName: "receiveLibraryTimeout", part: 1, expected: 0n },
    { ...sending, functionName: "getAppUlnConfig", expected: uln(layerZero.confirmations) },
    { ...sending, functionName: "executorConfigs", part: 0, expected: layerZero.maxMessageBytes },
    { ...sending, functionName: "executorConfigs", part: 1, expected: layerZero.executor },
    { ...receiving, functionName: "getAppUlnConfig", expected: uln(there.layerZero?.confirmations ?? 0) },
  ];
}

function listings(plan: ChainPlan): Wire[] {
  const converter = { address: addressIn(plan, "AgentFeeConverter"), abi: built.AgentFeeConverter.abi };
  return (plan.chain.agents?.listings ?? []).flatMap(({ token, window, slippageTicks }) => {
    const market = { ...converter, functionName: "marketOf", args: [token] };
    return [
      { ...market, part: "window", expected: window },
      { ...market, part: "slippageTicks", expected: slippageTicks },
    ];
  });
}
