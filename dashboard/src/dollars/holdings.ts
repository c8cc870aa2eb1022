import { stablecoinUnits } from "@inference/protocol/money";
import { holdingsOn } from "@inference/sdk/holdings";
import { useQuery } from "@tanstack/react-query";
import type { Wallet } from "../wallet/wallet.ts";

/** A wallet's dollars and tokens on a chain in token units, 1e-6 dollar, and its coin in wei. */
export function useHoldings({ acting, address, chainId: on }: Wallet, chainId: number) {
  return useQuery({
    queryKey: ["holdings", address, chainId, on],
    refetchInterval: 5_000,
    queryFn: async () => {
      const { dollar, amountToken, coinWei, isContract } = await holdingsOn(acting, chainId, address);
      const dollars = dollar.amount / stablecoinUnits(dollar.decimals);
      return { dollars, tokens: amountToken, coin: coinWei, isContract };
    },
  });
}
