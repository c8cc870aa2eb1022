import { ownValue } from "@inference/protocol/own-value";
import type { contractsAnswer } from "@inference/protocol/wire/answers";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import { oncePerConnection } from "./once.ts";
import { request } from "./request.ts";

/** The chains, their contracts, and the ABIs, as the gateway tells them. */
export type Directory = z.infer<typeof contractsAnswer>["data"];
export type DirectoryChain = Directory["chains"][number];

export const readDirectory = oncePerConnection(
  async (connection) => (await request<{ data: Directory }>(connection, "/api/v1/contracts")).data,
);

/** @param chainId Absent: the primary chain. Throws `ClientError` `unknown_chain`. */
export async function readChain(connection: Connection, chainId?: number): Promise<DirectoryChain> {
  const { chains } = await readDirectory(connection);
  const found = chains.find((chain) => (chainId === undefined ? chain.role === "primary" : chain.chain_id === chainId));
  if (found !== undefined) return found;
  const known = chains.map(({ chain_id: id }) => id).join(", ");
  throw new ClientError("unknown_chain", `The gateway knows no chain ${chainId}. It knows ${known}.`);
}

/** The address of a contract: the client's own if it names one, else the gateway's. */
export function contractOn(connection: Connection, chain: DirectoryChain, name: string): `0x${string}` {
  const own = ownValue(connection.chains[chain.chain_id]?.contracts, name);
  const address = own ?? ownValue<string | undefined>(chain.contracts, name);
  if (address !== undefined) return address as `0x${string}`;
  throw new ClientError("unknown_chain", `The gateway names no ${name} on chain ${chain.chain_id}.`);
}

/** Whether the client itself says where the contract is. */
export function isPinned(connection: Connection, chainId: number, name: string): boolean {
  return ownValue(connection.chains[chainId]?.contracts, name) !== undefined;
}

/** A chain that cannot be read, and why. */
export type Unread = { chainId: number; name: string | null; unread: string };

/** Reads each of some chains. The result of one that cannot be read says why. */
export function readEach<T>(
  chains: DirectoryChain[],
  read: (chain: DirectoryChain) => Promise<T>,
): Promise<(T | Unread)[]> {
  return Promise.all(
    chains.map((chain) =>
      read(chain).catch((error: unknown): Unread => {
        const unread = error instanceof Error ? error.message : String(error);
        return { chainId: chain.chain_id, name: chain.name, unread };
      }),
    ),
  );
}
