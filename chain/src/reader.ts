import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { type ChainReader, ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { cappedNanoUsd } from "@inference/protocol/money";
import { type Timers, within } from "@inference/protocol/timers";
import { readBooks } from "./books.ts";
import { askView, type Block, parseAddress, parseWord, readBlock, type View } from "./chain-view.ts";
import { acceptsSignature } from "./contract-signature.ts";
import type { ChainClient } from "./rpc.ts";
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
        const answer = await askView(client, ownerOf(agentToken), "latest");
        return parseAddress(answer ?? "0x") ?? null;
      }),

    agentSeller: (agentToken) =>
      question(async (client) => {
        const [registry, block] = await Promise.all([partOf(client, "REGISTRY"), readBlock(client, "latest")]);
        if (block === null) throw new ChainUnavailable("the node has no latest block");
        if (registry === null) return null;
        const ofAgent = { to: registry, abi: agentRegistryAbi, args: [agentToken] };
        const [isAgent, computer, owner] = await Promise.all([
          askOurs(client, { ...ofAgent, functionName: "isAgent" }, block),
          // The registry asks the token for its owner, which an unknown token need not have.
          askView(client, { ...ofAgent, functionName: "computerOf" }, block),
          askView(client, ownerOf(agentToken), block),
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
        const view = { to: pool, abi: inferencePoolAbi, functionName: "capacityToday", args: [identity] };
        return { capacityNanoUsd: cappedNanoUsd(await askOurs(client, view, block)), at: block.at };
      }),

    books: () => question((client) => readBooks(client, settlement)),
    acceptsSignature: (query) => question((client) => acceptsSignature(client, query)),
    pendingActivations: (account) => watcher.pendingActivations(account),
    following() {
      const { state, block, lagBlocks } = watcher.status();
      return { state, block, lagBlocks };
    },
  };
}

function ownerOf(agentToken: Address): View {
  return { to: agentToken, abi: agentTokenAbi, functionName: "owner" };
}

/** Calls one of the token's contracts, which always answer with one word. */
async function askOurs(client: ChainClient, view: View, block: Block): Promise<bigint> {
  const value = parseWord((await askView(client, view, block)) ?? "0x");
  if (value === undefined) throw new ChainUnavailable(`there is no contract of ours at ${view.to}`);
  return value;
}
