import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { erc20Abi, type Hex } from "viem";
import { chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, type DirectoryChain, readDirectory } from "./directory.ts";

/** What an address has on a chain. */
export type Holdings = {
  chainId: number;
  name: string | null;
  /** For gas, in 1e-18 coin. */
  coinWei: bigint;
  /** In the stablecoin's own units. */
  dollar: { amount: bigint; decimals: number };
  amountToken: bigint;
};

/** What an address has on each chain that the gateway names. A chain that cannot be read has the reason. */
export async function readHoldings(
  connection: Connection,
  address: Hex,
): Promise<(Holdings | { chainId: number; name: string | null; unread: string })[]> {
  const { chains } = await readDirectory(connection);
  return Promise.all(
    chains.map((chain) =>
      holdingsOn(connection, chain, address).catch((error: unknown) => ({
        ...{ chainId: chain.chain_id, name: chain.name },
        unread: error instanceof Error ? error.message : String(error),
      })),
    ),
  );
}

async function holdingsOn(connection: Connection, chain: DirectoryChain, address: Hex): Promise<Holdings> {
  const { reader } = await chainClients(connection, chain.chain_id);
  const dollar = { address: contractOn(connection, chain, "stablecoin"), abi: erc20Abi } as const;
  const token = { address: contractOn(connection, chain, "inferenceToken"), abi: inferenceTokenAbi } as const;
  const [coinWei, amount, decimals, amountToken] = await Promise.all([
    reader.getBalance({ address }),
    reader.readContract({ ...dollar, functionName: "balanceOf", args: [address] }),
    reader.readContract({ ...dollar, functionName: "decimals" }),
    reader.readContract({ ...token, functionName: "balanceOf", args: [address] }),
  ]);
  return { chainId: chain.chain_id, name: chain.name, coinWei, dollar: { amount, decimals }, amountToken };
}
