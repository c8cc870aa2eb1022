import { type Chain, createPublicClient, defineChain, http, type PublicClient, type Transport } from "viem";
import type { Connection } from "./connection.ts";
import { type DirectoryChain, readChain } from "./directory.ts";
import { ClientError } from "./errors.ts";

/** A chain's node and contracts. */
export type ChainClients = {
  entry: DirectoryChain;
  chain: Chain;
  reader: PublicClient<Transport, Chain>;
  nodeOf: NodeOf;
};

/** The chooser of a node. A check names it as trusted. */
export type NodeOf = "the client" | "the gateway";

const made = new WeakMap<Connection, Map<number, Promise<ChainClients>>>();

/** @param chainId Absent: the primary chain. Throws `ClientError` `no_node`, `wrong_chain`, `chain_unavailable`. */
export async function chainClients(connection: Connection, chainId?: number): Promise<ChainClients> {
  const entry = await readChain(connection, chainId);
  const clients = made.get(connection) ?? new Map<number, Promise<ChainClients>>();
  made.set(connection, clients);
  const known = clients.get(entry.chain_id);
  if (known !== undefined) return known;
  const opened = makeClients(connection, entry);
  clients.set(entry.chain_id, opened);
  opened.catch(() => clients.delete(entry.chain_id));
  return opened;
}

async function makeClients(connection: Connection, entry: DirectoryChain): Promise<ChainClients> {
  const { chain_id: id, name, rpc_url: rpcUrl } = entry;
  const own = connection.chains[id]?.transport;
  if (own === undefined && rpcUrl === null) {
    throw new ClientError("no_node", `The gateway names no node of chain ${id}. Name one of your own.`);
  }
  const transport = own ?? http(rpcUrl ?? "");
  const chain = chainOf(entry, name ?? `chain ${id}`);
  const reader = createPublicClient({ chain, transport, pollingInterval: connection.pollMs, cacheTime: 0 });
  await requireChain(reader, id);
  return { entry, chain, reader, nodeOf: own === undefined ? "the gateway" : "the client" };
}

/** Throws `ClientError` `wrong_chain`, `chain_unavailable`. */
export async function requireChain(reader: Pick<PublicClient, "getChainId">, id: number): Promise<void> {
  const actual = await reader.getChainId().catch((error: unknown) => {
    throw new ClientError("chain_unavailable", `The node of chain ${id} does not answer.`, error);
  });
  if (actual !== id) throw new ClientError("wrong_chain", `The node answers for chain ${actual}, not ${id}.`);
}

/** A chain as viem takes it. */
export function chainOf({ chain_id: id, rpc_url: rpcUrl }: DirectoryChain, name: string): Chain {
  return defineChain({
    ...{ id, name, nativeCurrency: { name: "Coin", symbol: "COIN", decimals: 18 } },
    rpcUrls: { default: { http: rpcUrl === null ? [] : [rpcUrl] } },
  });
}

/** Whether the address has code: it is a smart account, or delegates to one. */
export async function isContract({ reader }: ChainClients, address: `0x${string}`): Promise<boolean> {
  return ((await reader.getCode({ address })) ?? "0x") !== "0x";
}
