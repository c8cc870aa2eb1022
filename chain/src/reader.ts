import type { Address } from "@inference/protocol/credential";
import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { encodeFunctionData, parseAbi } from "viem";
import type { ActivationWatcher, WatcherStatus } from "./activation-watcher.ts";
import { callAt, type Hex, parseWord, quantity } from "./chain-view.ts";
import { acceptsSignature, type SignatureQuery } from "./contract-signature.ts";
import type { PendingActivation } from "./pending.ts";
import { type ChainClient, ChainUnavailable, RpcError } from "./rpc.ts";

/** What the gateway asks of a chain. Every call may throw `ChainUnavailable`, which is never an answer. */
export type ChainReader = {
  /** Null unless it is a contract with an owner that the registry, where there is one, knows. */
  agentOwner(agentToken: Address): Promise<Address | null>;
  /** An identity's dollars for today; nothing where there is no pool. */
  capacityToday(identity: Address): Promise<NanoUsd>;
  acceptsSignature(query: SignatureQuery): Promise<boolean>;
  pendingActivations(account: Address): PendingActivation[];
  following(): Pick<WatcherStatus, "state" | "block" | "lagBlocks">;
};

export type ChainReaderOptions = {
  clients: ReadonlyMap<number, ChainClient>;
  primaryChainId: number;
  pool?: Address | undefined;
  registry?: Address | undefined;
  watcher: Pick<ActivationWatcher, "pendingActivations" | "status">;
};

const ownerAbi = parseAbi(["function owner() view returns (address)"]);
const registryAbi = parseAbi(["function isAgent(address agentToken) view returns (bool)"]);
/** The pool answers in nano-dollars, as everything of ours on chain that is named so. */
const poolAbi = parseAbi(["function capacityToday(address identity) view returns (uint256 nanoUsd)"]);

/** A strange contract gets this much gas to answer with, on the operator's node. */
const GAS = 200_000;

export function createChainReader({
  clients,
  primaryChainId,
  pool,
  registry,
  watcher,
}: ChainReaderOptions): ChainReader {
  function clientOf(chainId: number): ChainClient {
    const client = clients.get(chainId);
    if (client === undefined) throw new ChainUnavailable(`no node is configured for chain ${chainId}`);
    return client;
  }

  /** Undefined if the contract failed. */
  async function ask(to: Address, data: Hex): Promise<Hex | undefined> {
    try {
      return await callAt(clientOf(primaryChainId), { to, data, gas: quantity(GAS) }, "latest");
    } catch (error) {
      if (error instanceof RpcError) return undefined;
      throw error;
    }
  }

  /** Of our own contracts, which always answer with one word. */
  async function askOurs(to: Address, data: Hex): Promise<bigint> {
    const answer = await ask(to, data);
    const value = answer === undefined ? undefined : parseWord(answer);
    if (value === undefined) throw new ChainUnavailable(`there is no contract of ours at ${to}`);
    return value;
  }

  return {
    async agentOwner(agentToken) {
      if (registry !== undefined) {
        const data = encodeFunctionData({ abi: registryAbi, args: [agentToken] });
        if ((await askOurs(registry, data)) !== 1n) return null;
      }
      return ownerOf(await ask(agentToken, encodeFunctionData({ abi: ownerAbi })));
    },

    async capacityToday(identity) {
      if (pool === undefined) return 0;
      const capacity = await askOurs(pool, encodeFunctionData({ abi: poolAbi, args: [identity] }));
      return capacity > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(capacity);
    },

    acceptsSignature: async (query) => acceptsSignature(clientOf(query.chainId), query),
    pendingActivations: (account) => watcher.pendingActivations(account),
    following() {
      const { state, block, lagBlocks } = watcher.status();
      return { state, block, lagBlocks };
    },
  };
}

/** Exactly one word, clean above its 20 bytes, and somebody. */
function ownerOf(answer: Hex | undefined): Address | null {
  if (answer === undefined || !/^0x0{24}[0-9a-f]{40}$/.test(answer)) return null;
  const owner: Address = `0x${answer.slice(26)}`;
  return BigInt(owner) === 0n ? null : owner;
}
