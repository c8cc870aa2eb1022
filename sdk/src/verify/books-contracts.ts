import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Hex, parseAbi, slice, zeroAddress } from "viem";
import type { ChainClients } from "../chain-clients.ts";
import type { Connection } from "../connection.ts";
import { contractOn } from "../directory.ts";

/**
 * The contracts that hold the token's reserves. The settlement contract leads to all others on every chain, by links
 * that cannot change. So its address alone must be trusted. An address that the client names is used instead.
 */
export type PrimaryContracts = Record<"settlement" | "minter" | "stablecoin" | "bridge", Hex>;
type SecondaryContracts = Record<"token" | "outbox" | "stablecoin", Hex>;

export async function primaryContracts(
  connection: Connection,
  { entry, reader }: ChainClients,
): Promise<PrimaryContracts> {
  const own = connection.chains[entry.chain_id]?.contracts ?? {};
  const settlement = { address: contractOn(connection, entry, "inferenceSettlement"), abi: inferenceSettlementAbi };
  const minter = own.tokenMinter ?? (await reader.readContract({ ...settlement, functionName: "MINTER" }));
  const bridge = own.tokenBridge ?? (await reader.readContract({ ...settlement, functionName: "BRIDGE" }));
  const stablecoin =
    own.stablecoin ?? (await reader.readContract({ address: minter, abi: tokenMinterAbi, functionName: "STABLECOIN" }));
  return { settlement: settlement.address, minter, stablecoin, bridge };
}

/** Throws if the chain has another LayerZero endpoint id. */
export async function secondaryContracts(
  connection: Connection,
  { primary, bridge, there, eid }: { primary: ChainClients; bridge: Hex; there: ChainClients; eid: number },
): Promise<SecondaryContracts> {
  const own = connection.chains[there.entry.chain_id]?.contracts ?? {};
  const { reader } = there;
  const peer = slice(
    await primary.reader.readContract({ address: bridge, abi: tokenBridgeAbi, functionName: "peers", args: [eid] }),
    12,
  );
  if (peer === zeroAddress) throw new Error(`the primary chain's bridge knows no LayerZero endpoint id ${eid}`);
  const bridgeThere = { address: own.tokenBridge ?? peer, abi: tokenBridgeAbi };
  const endpoint = await reader.readContract({ ...bridgeThere, functionName: "endpoint" });
  const actual = await reader.readContract({ address: endpoint, abi: endpointAbi, functionName: "eid" });
  if (actual !== eid) throw new Error(`its LayerZero endpoint id is ${actual}, and the gateway says ${eid}`);
  const token = own.inferenceToken ?? (await reader.readContract({ ...bridgeThere, functionName: "TOKEN" }));
  const minter =
    own.tokenMinter ?? (await reader.readContract({ address: token, abi: inferenceTokenAbi, functionName: "MINTER" }));
  const outbox =
    own.tokenBackingOutbox ??
    (await reader.readContract({ address: minter, abi: tokenMinterAbi, functionName: "OUTBOX" }));
  const stablecoin =
    own.stablecoin ??
    (await reader.readContract({ address: outbox, abi: tokenBackingOutboxAbi, functionName: "STABLECOIN" }));
  return { token, outbox, stablecoin };
}

/** LayerZero's own contract. */
const endpointAbi = parseAbi(["function eid() view returns (uint32)"]);
