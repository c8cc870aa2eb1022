import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { ownValue } from "@inference/protocol/own-value";
import { erc20Abi, type Hex } from "viem";
import { readStakingToken } from "./backing.ts";
import { chainClients, isContract } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, readDirectory, readEach, type Unread } from "./directory.ts";

/** The coins, dollars and tokens of an address on a chain. */
export type Holdings = {
  chainId: number;
  name: string | null;
  /** For gas, in 1e-18 coin. */
  coinWei: bigint;
  /** In the stablecoin's own units. */
  dollar: { amount: bigint; decimals: number };
  amountToken: bigint;
  /** The staking token, in 1e-18; null: the chain has no pool, or nobody asked for it. */
  staking: { amount: bigint; symbol: string } | null;
  isContract: boolean;
};

/** The holdings on each chain that the gateway names, or the reason why a chain cannot be read. */
export async function readHoldings(connection: Connection, address: Hex): Promise<(Holdings | Unread)[]> {
  const { chains } = await readDirectory(connection);
  return readEach(chains, async (chain) => {
    const [holdings, staking] = await Promise.all([
      holdingsOn(connection, chain.chain_id, address),
      ownValue(chain.contracts, "inferencePool") === undefined ? null : readStakingToken(connection, address),
    ]);
    return { ...holdings, staking };
  });
}

/** The holdings on one chain, without the staking token. */
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
  const own = { coinWei, dollar: { amount, decimals }, amountToken, staking: null, isContract: hasCode };
  return { chainId, name: entry.name, ...own };
}
