/** The references and roles of factory, timelock, token, minter, outbox and settlement. */
import { type Address, keccak256, pad, parseAbi, stringToHex, zeroAddress, zeroHash } from "viem";
import { create3Factory } from "../generated/create3-factory.ts";
import { inferenceSettlement } from "../generated/inference-settlement.ts";
import { inferenceToken } from "../generated/inference-token.ts";
import { oftDollarBridge } from "../generated/oft-dollar-bridge.ts";
import { tokenBackingOutbox } from "../generated/token-backing-outbox.ts";
import { tokenMinter } from "../generated/token-minter.ts";
import { adapterName, addressIn, type ChainPlan, create3Address, inboxName, pathwaysOf } from "./contract-plan.ts";
import type { DeploymentConfig } from "./deployment-config.ts";
import type { Wire } from "./wire.ts";

export function coreWires(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  return [
    ...factoryAndTimelock(config, plan),
    ...tokenAndMinter(config, plan),
    ...(plan.chain.primary === undefined ? outbox(config, plan) : [...settlement(plan), ...dollarsIn(config, plan)]),
  ];
}

const timelockAbi = parseAbi([
  "function getMinDelay() view returns (uint256)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
]);
const ROLES = ["ADMIN", "PROPOSER", "CANCELLER", "EXECUTOR"] as const;

function factoryAndTimelock(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const factory = { address: plan.factory, abi: create3Factory.abi };
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

function tokenAndMinter(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const at = (name: string): Address => addressIn(plan, name);
  const token = { address: at("InferenceToken"), abi: inferenceToken.abi };
  const minter = { address: at("TokenMinter"), abi: tokenMinter.abi };
  const isPrimary = plan.chain.primary !== undefined;
  return [
    { ...token, functionName: "decimals", expected: 6 },
    { ...token, functionName: "MINTER", expected: at("TokenMinter") },
    { ...token, functionName: "BRIDGE", expected: at("TokenBridge") },
    { ...token, functionName: "SETTLEMENT", expected: at("InferenceSettlement") },
    { ...minter, functionName: "TOKEN", expected: at("InferenceToken") },
    { ...minter, functionName: "STABLECOIN", expected: plan.chain.stablecoin },
    { ...minter, functionName: "SETTLEMENT", expected: at("InferenceSettlement") },
    { ...minter, functionName: "OUTBOX", expected: at("TokenBackingOutbox") },
    { ...minter, functionName: "BRIDGE", expected: at("TokenBridge") },
    ...pathwaysOf(config, plan.chain).map(({ eid }) => {
      const expected = isPrimary ? at(inboxName(eid)) : zeroAddress;
      return { ...minter, functionName: "inboxOf", args: [eid], expected };
    }),
  ];
}

function settlement(plan: ChainPlan): Wire[] {
  const { guardian, primary } = plan.chain;
  const at = (name: string): Address => addressIn(plan, name);
  const books = { address: at("InferenceSettlement"), abi: inferenceSettlement.abi };
  return [
    { ...books, functionName: "TOKEN", expected: at("InferenceToken") },
    { ...books, functionName: "MINTER", expected: at("TokenMinter") },
    { ...books, functionName: "BRIDGE", expected: at("TokenBridge") },
    { ...books, functionName: "POOL", expected: at("InferencePool") },
    { ...books, functionName: "REGISTRY", expected: at("AgentRegistry") },
    { ...books, functionName: "TIMELOCK", expected: at("TimelockController") },
    { ...books, functionName: "guardian", expected: guardian },
    { ...books, functionName: "settler", expected: primary?.settler },
    { ...books, functionName: "provider", expected: primary?.provider },
    { ...books, functionName: "receiptKey", expected: primary?.receiptKey },
  ];
}

/** The smallest batch of an outbox, in token units. */
const MIN_BATCH = 10_000_000n;

function outbox(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const at = (name: string): Address => addressIn(plan, name);
  const { stablecoin, layerZero, dollarOft, dollarOftOnPrimary } = plan.chain;
  const waiting = { address: at("TokenBackingOutbox"), abi: tokenBackingOutbox.abi };
  const adapter = { address: at(adapterName(plan.chain)), abi: oftDollarBridge.abi };
  const [toPrimary] = pathwaysOf(config, plan.chain);
  const carrier = { address: dollarOft ?? zeroAddress, abi: oftAbi };
  const inbox = create3Address(plan.factory, inboxName(layerZero?.eid ?? 0));
  return [
    { ...waiting, functionName: "MINTER", expected: at("TokenMinter") },
    { ...waiting, functionName: "STABLECOIN", expected: stablecoin },
    { ...waiting, functionName: "TIMELOCK", expected: at("TimelockController") },
    { ...waiting, functionName: "adapter", expected: adapter.address },
    { ...adapter, functionName: "OFT", expected: dollarOft },
    { ...adapter, functionName: "STABLECOIN", expected: stablecoin },
    { ...adapter, functionName: "PRIMARY_EID", expected: toPrimary?.eid },
    { ...adapter, functionName: "INBOX", expected: inbox },
    // Without options that the OFT's owner enforces, a bridge rejects every message, and no flush could ever be sent.
    { ...adapter, functionName: "quote", args: [MIN_BATCH] },
    { ...carrier, ...peer(toPrimary?.eid, dollarOftOnPrimary) },
  ];
}

/**
 * Third-party contracts. An error here strands the dollars of a batch, or pays the inbox in a token that the minter
 * does not take.
 */
const oftAbi = parseAbi([
  "function token() view returns (address)",
  "function peers(uint32 eid) view returns (bytes32)",
]);

/** The contracts from which the dollars of the secondary chains are paid out. */
function dollarsIn(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  return pathwaysOf(config, plan.chain).flatMap(({ there: { dollarOft, dollarOftOnPrimary }, eid }): Wire[] => {
    const carrier = { address: dollarOftOnPrimary ?? zeroAddress, abi: oftAbi };
    return [
      { ...carrier, functionName: "token", expected: plan.chain.stablecoin },
      { ...carrier, ...peer(eid, dollarOft) },
    ];
  });
}

/** An OFT stores its peers; Stargate's pools leave that to a separate contract. */
function peer(eid: number | undefined, address: Address | undefined): Omit<Wire, "address" | "abi"> {
  return { functionName: "peers", args: [eid], expected: pad(address ?? zeroAddress), mayRevert: true };
}
