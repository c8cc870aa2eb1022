import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { erc20Abi, type Hex } from "viem";
import { chainClients, isContract } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, readDirectory } from "./directory.ts";

/** The coins, dollars and tokens of an address on a chain. */
export type Holdings = {
  chainId: number;
  name: string | null;
  /** For gas, in 1e-18 coin. */
  coinWei: bigint;
  /** In the stablecoin's own units. */
  dollar: { amount: bigint; decimals: number };
  amountToken: bigint;
  isContract: boolean;
};

/** The holdings on each chain that the gateway names, or the reason why a chain cannot be read. */
export async function readHoldings(
  connection: Connection,
  address: Hex,
): Promise<(Holdings | { chainId: number; name: string | null; unread: string })[]> {
  const { chains } = await readDirectory(connection);
  return Promise.all(
    chains.map((chain) =>
      holdingsOn(connection, chain.chain_id, address).catch((error: unknown) => ({
        ...{ chainId: chain.chain_id, name: chain.name },
        unread: error instanceof Error ? error.message : String(error),
      })),
    ),
  );
}

/** The holdings on one chain. */
export async function holdingsOn(connection: Connection, chainId: number, address: Hex): Promise<Holdings> {
  const clients = await chainClients(connection, chainId);
  const { reader, entry } = clients;
  const dollar = { address: contractOn(connection, entry, "stablecoin"), abi: erc20Abi } as const;
  const token = { address: contractOn(connection, entry, "inferenceToken"), abi: inferenceTokenAbi } as const;
  const [coinWei, amount, decimals, amountToken, hasCode] = await Promise.all([
    reader.getBalance({ address }),
    reader.readContract({ ...dollar, functionName: "balanceOf", args: [address] }),
    reader.readContract({ ...dollar, functionName: "decimals" }),
    reader.readContract({ ...token, functionName: "balanceOf", args: [address] }),
    isContract(clients, address),
  ]);
  return { chainId, name: entry.name, coinWei, dollar: { amount, decimals }, amountToken, isContract: hasCode };
}
