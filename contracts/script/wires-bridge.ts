/** The expected configuration of the bridge and of LayerZero's endpoint and libraries. No pathway may use defaults. */
import { type Address, pad, parseAbi, zeroAddress } from "viem";
import { tokenBridge } from "../generated/token-bridge.ts";
import { addressIn, type ChainPlan, pathwaysOf } from "./contract-plan.ts";
import type { ChainConfig, DeploymentConfig, LayerZeroConfig } from "./deployment-config.ts";
import { ascending, receiveOptions } from "./layerzero-options.ts";
import type { Wire } from "./wire.ts";

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

export function bridgeWires(config: DeploymentConfig, plan: ChainPlan): Wire[] {
  const { chain } = plan;
  const { layerZero } = chain;
  if (layerZero === undefined) return [];
  const at = (name: string): Address => addressIn(plan, name);
  const address = at("TokenBridge");
  const bridge = { address, abi: tokenBridge.abi };
  const endpoint = { address: layerZero.endpoint, abi: endpointAbi };
  const pathways = pathwaysOf(config, chain);
  const isPrimary = chain.primary !== undefined;
  return [
    { ...bridge, functionName: "TOKEN", expected: at("InferenceToken") },
    { ...bridge, functionName: "MINTER", expected: isPrimary ? at("TokenMinter") : zeroAddress },
    { ...bridge, functionName: "SETTLEMENT", expected: at("InferenceSettlement") },
    { ...bridge, functionName: "PRIMARY_EID", expected: isPrimary ? 0 : pathways[0]?.eid },
    { ...bridge, functionName: "DAILY_MINT_CAP", expected: config.dailyMintCap },
    { ...bridge, functionName: "guardian", expected: chain.guardian },
    { ...bridge, functionName: "owner", expected: at("TimelockController") },
    { ...bridge, functionName: "endpoint", expected: layerZero.endpoint },
    { ...endpoint, functionName: "eid", expected: layerZero.eid },
    { ...endpoint, functionName: "delegates", args: [address], expected: at("TimelockController") },
    { ...bridge, functionName: "options", expected: receiveOptions(config.messageGas) },
    ...pathways.flatMap((pathway) => pathwayWires({ address, layerZero, ...pathway })),
  ];
}

type Pathway = { address: Address; layerZero: LayerZeroConfig; there: ChainConfig; eid: number };

function pathwayWires({ address, layerZero, there, eid }: Pathway): Wire[] {
  const bridge = { address, abi: tokenBridge.abi, args: [eid] };
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
