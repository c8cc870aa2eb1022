import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import type { Books } from "@inference/protocol/books";
import type { Address } from "@inference/protocol/credential";
import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { encodeFunctionData } from "viem";
import type { ActivationWatcher, WatcherStatus } from "./activation-watcher.ts";
import { readBooks } from "./books.ts";
import { type Block, callAt, type Hex, parseWord, quantity, readBlock } from "./chain-view.ts";
import { acceptsSignature, type SignatureQuery } from "./contract-signature.ts";
import type { PendingActivation } from "./pending.ts";
import { type ChainClient, ChainUnavailable, RpcError } from "./rpc.ts";

/**
 * What the gateway asks of a chain. Every call ends within two seconds, and may throw `ChainUnavailable`, which is
 * never an answer.
 */
export type ChainReader = {
  /** Null unless it is a contract with an owner that the registry, where there is one, knows. */
  agentOwner(agentToken: Address): Promise<Address | null>;
  /** An identity's dollars for the UTC day of the latest block; nothing where there is no pool. */
  capacityToday(identity: Address): Promise<Capacity>;
  acceptsSignature(query: SignatureQuery): Promise<boolean>;
  /** Null where no settlement contract is set. */
  books(): Promise<Books | null>;
  pendingActivations(account: Address): PendingActivation[];
  following(): Pick<WatcherStatus, "state" | "block" | "lagBlocks">;
};

/** `at` is the block's own time, in ms since the epoch: of its day it is the capacity, and of no other. */
export type Capacity = { capacityNanoUsd: NanoUsd; at: number };

export type ChainReaderOptions = {
  clients: ReadonlyMap<number, ChainClient>;
  primaryChainId: number;
  settlement?: Address | undefined;
  pool?: Address | undefined;
  registry?: Address | undefined;
  watcher: Pick<ActivationWatcher, "pendingActivations" | "status">;
};

const TIMEOUT_MS = 2_000;
/** A strange contract gets this much gas to answer with, on the operator's node. */
const GAS = 200_000;

export function createChainReader({
  clients,
  primaryChainId,
  settlement,
  pool,
  registry,
  watcher,
}: ChainReaderOptions): ChainReader {
  function clientOf(chainId: number): ChainClient {
    const client = clients.get(chainId);
    if (client === undefined) throw new ChainUnavailable(`no node is configured for chain ${chainId}`);
    return client;
  }

  /** The primary chain's node, for one question: all its calls together have the time. */
  function primary(): ChainClient {
    const client = clientOf(primaryChainId);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return { request: (method, params) => client.request(method, params, { signal }) };
  }

  return {
    async agentOwner(agentToken) {
      const client = primary();
      if (registry !== undefined) {
        const data = encodeFunctionData({ abi: agentRegistryAbi, functionName: "isAgent", args: [agentToken] });
        if ((await askOurs(client, registry, data)) !== 1n) return null;
      }
      return ownerOf(await ask(client, agentToken, encodeFunctionData({ abi: agentTokenAbi, functionName: "owner" })));
    },

    async capacityToday(identity) {
      const client = primary();
      // A block of its own, because the answer says nothing of the day that it is for.
      const block = await readBlock(client, "latest");
      if (block === null) throw new ChainUnavailable("the node has no latest block");
      if (pool === undefined) return { capacityNanoUsd: 0, at: block.at };
      const data = encodeFunctionData({ abi: inferencePoolAbi, functionName: "capacityToday", args: [identity] });
      const capacity = await askOurs(client, pool, data, block);
      const capacityNanoUsd = capacity > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(capacity);
      return { capacityNanoUsd, at: block.at };
    },

    books: async () => (settlement === undefined ? null : readBooks(primary(), settlement)),
    acceptsSignature: async (query) => acceptsSignature(clientOf(query.chainId), query),
    pendingActivations: (account) => watcher.pendingActivations(account),
    following() {
      const { state, block, lagBlocks } = watcher.status();
      return { state, block, lagBlocks };
    },
  };
}

/** Undefined if the contract failed. */
async function ask(
  client: ChainClient,
  to: Address,
  data: Hex,
  block: Block | "latest" = "latest",
): Promise<Hex | undefined> {
  try {
    return await callAt(client, { to, data, gas: quantity(GAS) }, block);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

/** Of our own contracts, which always answer with one word. */
async function askOurs(client: ChainClient, to: Address, data: Hex, block?: Block): Promise<bigint> {
  const answer = await ask(client, to, data, block);
  const value = answer === undefined ? undefined : parseWord(answer);
  if (value === undefined) throw new ChainUnavailable(`there is no contract of ours at ${to}`);
  return value;
}

/** Exactly one word, clean above its 20 bytes, and somebody. */
function ownerOf(answer: Hex | undefined): Address | null {
  if (answer === undefined || !/^0x0{24}[0-9a-f]{40}$/.test(answer)) return null;
  const owner: Address = `0x${answer.slice(26)}`;
  return BigInt(owner) === 0n ? null : owner;
}
