import type { ChainClient } from "@inference/chain/rpc";
import { gaslessTopUpAbi } from "@inference/protocol/abi/gasless-top-up";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import type { RelayQuote } from "@inference/protocol/wire/top-up";
import { type Account, type Address, zeroAddress, zeroHash } from "viem";
import { type Connection, connect } from "../connection.ts";
import { chainClientOf, contractOn, hasContract } from "../keeper-chain.ts";
import { revertOf } from "../revert.ts";
import type { KeeperChainSettings, RelayChainSettings } from "../settings.ts";

/** A chain on which the relay sends payments. */
export type RelayChain = Connection & {
  name: string;
  chainId: number;
  settings: RelayChainSettings;
  client: ChainClient;
  confirmations: number;
  startBlock: number;
  /** Throws for a contract that the settings do not have. */
  at(contract: string): Address;
  /** The terms. The stablecoin is read once; throws while the node does not answer. */
  quote(): Promise<RelayQuote>;
  /** What a call carries: the bridge's fee on a secondary chain. */
  messageFeeWei(blockNumber: bigint): Promise<bigint>;
};

/** How far in the future a deadline may be. */
export const LONGEST_S = 86_400;

/** The terms of standing orders, which the keeper's own account pulls; null if it pulls none. */
type OrderTerms = RelayQuote["standing_order"];

/** @param primary Null for the primary chain itself. */
export function openRelayChain(
  given: KeeperChainSettings,
  { account, primary, order }: { account: Account; primary: KeeperChainSettings | null; order: OrderTerms },
): RelayChain | null {
  const { name, chainId, rpcUrl, relay: settings, confirmations, startBlock } = given;
  if (settings === undefined) return null;
  const connection = connect({ chainId, rpcUrl, account });
  const { reader } = connection;
  const at = (contract: string): Address => contractOn({ settings: given }, contract);
  const contract = at("gaslessTopUp");
  let quote: RelayQuote | undefined;

  async function read(): Promise<RelayQuote> {
    const address = await reader.readContract({ address: contract, abi: gaslessTopUpAbi, functionName: "STABLECOIN" });
    const stablecoin = { address, abi: stablecoinAbi } as const;
    const [decimals, dollar, version, hasAuthorizations] = await Promise.all([
      reader.readContract({ ...stablecoin, functionName: "decimals" }),
      reader.readContract({ ...stablecoin, functionName: "name" }),
      versionOf(address),
      knowsAuthorizations(address),
    ]);
    const { fee, least, leastX402 } = settings as RelayChainSettings;
    const isX402 = primary === null && hasAuthorizations && leastX402 !== undefined;
    return {
      chain_id: chainId,
      method: hasAuthorizations ? "authorization" : "permit",
      contract,
      stablecoin: { address, name: dollar, version, decimals },
      ...{ fee_token: String(fee), fee_to: account.address, least_token: String(least), longest_s: LONGEST_S },
      x402: isX402 ? { pay_to: at("x402Door"), least_token: String(leastX402) } : null,
      standing_order: hasContract({ settings: given }, "standingOrders") ? order : null,
    };
  }
  /** The version in the stablecoin's EIP-712 domain: by its own function, or by EIP-5267. */
  async function versionOf(address: Address): Promise<string> {
    const own = () => reader.readContract({ address, abi: stablecoinAbi, functionName: "version" });
    const domain = () => reader.readContract({ address, abi: gaslessTopUpAbi, functionName: "eip712Domain" });
    return (await unlessAbsent(own)) ?? (await domain())[2];
  }
  async function knowsAuthorizations(address: Address): Promise<boolean> {
    const call = { address, abi: stablecoinAbi, functionName: "authorizationState" } as const;
    return (await unlessAbsent(() => reader.readContract({ ...call, args: [zeroAddress, zeroHash] }))) !== undefined;
  }
  return {
    ...connection,
    ...{ name, chainId, settings, confirmations, startBlock, at },
    client: chainClientOf(rpcUrl),
    async quote() {
      quote ??= await read();
      return quote;
    },
    async messageFeeWei(blockNumber) {
      if (primary === null) return 0n;
      const bridge = { address: at("tokenBridge"), abi: tokenBridgeAbi } as const;
      return reader.readContract({ ...bridge, functionName: "quote", args: [primary.eid], blockNumber });
    },
  };
}

/** Undefined if the contract does not have the function. */
async function unlessAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const isAbsent = revertOf(error) !== undefined || /returned no data|reverted/.test(String(error));
    if (isAbsent) return undefined;
    throw error;
  }
}
