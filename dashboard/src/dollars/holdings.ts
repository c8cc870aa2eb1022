import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { chainClients, isContract } from "@inference/sdk/chain-clients";
import { contractOn } from "@inference/sdk/directory";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { Wallet } from "../wallet/wallet.ts";

/** What a wallet has on a chain. Dollars and tokens in token units, 1e-6 dollar; the coin in wei. */
export type Holdings = { dollars: bigint; tokens: bigint; coin: bigint; isContract: boolean };

export function useHoldings({ acting, address, chainId: on }: Wallet, chainId: number): UseQueryResult<Holdings> {
  return useQuery({
    queryKey: ["holdings", address, chainId, on],
    refetchInterval: 5_000,
    queryFn: async (): Promise<Holdings> => {
      const clients = await chainClients(acting, chainId);
      const { reader, entry } = clients;
      const [stablecoin, token] = [
        contractOn(acting, entry, "stablecoin"),
        contractOn(acting, entry, "inferenceToken"),
      ];
      const of = { functionName: "balanceOf", args: [address] } as const;
      const decimals = entry.stablecoin?.decimals ?? 6;
      const [dollars, tokens, coin, contract] = await Promise.all([
        reader.readContract({ address: stablecoin, abi: stablecoinAbi, ...of }),
        reader.readContract({ address: token, abi: inferenceTokenAbi, ...of }),
        reader.getBalance({ address }),
        isContract(clients, address),
      ]);
      return { dollars: dollars / 10n ** BigInt(decimals - 6), tokens, coin, isContract: contract };
    },
  });
}
