import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { type ChainReader, ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { type Timers, within } from "@inference/protocol/timers";
import { encodeFunctionData } from "viem";
import { readBooks } from "./books.ts";
import { type Block, callAt, type Hex, parseAddress, parseWord, quantity, readBlock } from "./chain-view.ts";
import { acceptsSignature } from "./contract-signature.ts";
import { type ChainClient, RpcError } from "./rpc.ts";
import { type ConfiguredContracts, type Part, readPart } from "./settlement-parts.ts";
import type { SettlementWatcher } from "./settlement-watcher.ts";

export type ChainReaderOptions = {
  /** Reads the primary chain. */
  client: ChainClient;
  /** Has the pool's address if the settings lack it. `settingsContradiction` compares the two if both have it. */
  settlement: Address;
  contracts?: ConfiguredContracts;
  timers: Timers;
  watcher: Pick<SettlementWatcher, "pendingActivations" | "status">;
};

const TIMEOUT_MS = 2_000;
/**
 * The gas of a call to a contract of others, on the operator's node. It pays for an answer of about 280 KB, which is
 * far less than the client reads (`maxResponseBytes`).
 */
const GAS = 200_000;

export function createChainReader(options: ChainReaderOptions): ChainReader {
  const { client, settlement, contracts = {}, timers, watcher } = options;
  const parts = new Map<Part, Address | null>();

  /** One question to the node. The time limit is for all calls of the question together. */
  function question<T>(ask: (client: ChainClient) => Promise<T>): Promise<T> {
    return within(timers, TIMEOUT_MS, (signal) =>
      ask({ request: (method, params) => client.request(method, params, { signal }) }),
    );
  }

  /** Read once, because it never changes. */
  async function partOf(client: ChainClient, name: Part): Promise<Address | null> {
    const known = contracts[`${name}_ADDRESS`] ?? parts.get(name);
    if (known !== undefined) return known;
    const part = await readPart(client, settlement, name);
    parts.set(name, part);
    return part;
  }

  return {
    agentOwner: (agentToken) =>
      question(async (client) => {
        const data = encodeFunctionData({ abi: agentTokenAbi, functionName: "owner" });
        const answer = await ask(client, agentToken, data);
        return answer === undefined ? null : (parseAddress(answer) ?? null);
      }),

    agentSeller: (agentToken) =>
      question(async (client) => {
        const [registry, block] = await Promise.all([partOf(client, "REGISTRY"), readBlock(client, "latest")]);
        if (block === null) throw new ChainUnavailable("the node has no latest block");
        if (registry === null) return null;
        const [isAgent, computer, owner] = await Promise.all([
          askOurs(client, registry, registryCall("isAgent", agentToken), block),
          // The registry asks the token for its owner, which an unknown token need not have.
          ask(client, registry, registryCall("computerOf", agentToken), block),
          ask(client, agentToken, encodeFunctionData({ abi: agentTokenAbi, functionName: "owner" }), block),
        ]);
        if (isAgent === 0n) return null;
        const [ofOwner, ofComputer] = [owner, computer].map((answer) => parseAddress(answer ?? "0x"));
        if (ofOwner === undefined || ofComputer === undefined) {
          throw new ChainUnavailable(`the agent ${agentToken} does not answer as one of the registry's does`);
        }
        // The ownership was renounced.
        return ofOwner === null ? null : { owner: ofOwner, computer: ofComputer };
      }),

    capacityToday: (identity) =>
      question(async (client) => {
        // The block is read too, because the answer does not contain its day.
        const [pool, block] = await Promise.all([partOf(client, "POOL"), readBlock(client, "latest")]);
        if (block === null) throw new ChainUnavailable("the node has no latest block");
        if (pool === null) return { capacityNanoUsd: 0, at: block.at };
        const data = encodeFunctionData({ abi: inferencePoolAbi, functionName: "capacityToday", args: [identity] });
        const capacity = await askOurs(client, pool, data, block);
        const capacityNanoUsd = capacity > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(capacity);
        return { capacityNanoUsd, at: block.at };
      }),

    books: () => question((client) => readBooks(client, settlement)),
    acceptsSignature: (query) => acceptsSignature(client, timers, query),
    pendingActivations: (account) => watcher.pendingActivations(account),
    following() {
      const { state, block, lagBlocks } = watcher.status();
      return { state, block, lagBlocks };
    },
  };
}

function registryCall(functionName: "isAgent" | "computerOf", agentToken: Address): Hex {
  return encodeFunctionData({ abi: agentRegistryAbi, functionName, args: [agentToken] });
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

/** Calls one of the token's contracts, which always answer with one word. */
async function askOurs(client: ChainClient, to: Address, data: Hex, block: Block): Promise<bigint> {
  const answer = await ask(client, to, data, block);
  const value = answer === undefined ? undefined : parseWord(answer);
  if (value === undefined) throw new ChainUnavailable(`there is no contract of ours at ${to}`);
  return value;
}
