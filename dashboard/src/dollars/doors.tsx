import { hasMarket, MARKET_SLIPPAGE_BPS, marketLimit, quoteMarket } from "@inference/sdk/market";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { roughUsd, tokenUsd } from "../format.ts";
import type { Chain } from "../gateway.ts";
import { Choices } from "../parts/form.tsx";
import type { Wallet } from "../wallet/wallet.ts";

type Door = "par" | "market";

/** The two prices of tokens, at par and in the market, and the chosen one: the cheaper, unless the reader chooses. */
type Doors = {
  chosen: Door;
  choose(door: Door): void;
  /** `asked`: the market's price is not known yet. `none`: there is no market for this. */
  state: "none" | "asked" | "known";
  /** In token units, 1e-6 dollar. */
  marketCost: bigint;
  /** The most to pay in the market; null: par is chosen. */
  maxCostToken: bigint | null;
};

/** @param amountToken Undefined: there is nothing to be bought. */
export function useDoors({ acting, address }: Wallet, chain: Chain | undefined, amountToken?: bigint): Doors {
  const [asked, choose] = useState<Door>();
  const isSold = chain?.role === "primary" && hasMarket(chain) && amountToken !== undefined && amountToken > 0n;
  const { data, isPending } = useQuery({
    queryKey: ["market", address, String(amountToken)],
    queryFn: () => quoteMarket(acting, { amountToken: amountToken ?? 0n }),
    refetchInterval: 10_000,
    enabled: isSold,
  });
  const quote = isSold ? (data ?? null) : null;
  const isCheaper = quote !== null && quote.costToken < quote.amountToken;
  const chosen = isCheaper ? (asked ?? "market") : "par";
  return {
    chosen,
    choose,
    state: quote !== null ? "known" : isSold && isPending ? "asked" : "none",
    marketCost: quote?.costToken ?? 0n,
    maxCostToken: isCheaper && chosen === "market" ? marketLimit(quote) : null,
  };
}

export function DoorChooser({ doors, amountToken }: { doors: Doors; amountToken: bigint }): ReactNode {
  const { chosen, choose, state, marketCost, maxCostToken } = doors;
  if (state === "none") return null;
  const isKnown = state === "known";
  const saved = amountToken - marketCost;
  const isCheaper = isKnown && saved > 0n;
  return (
    <>
      <Choices
        label="At which price?"
        value={chosen}
        set={choose}
        options={[
          {
            value: "par",
            title: `Fixed price: ${tokenUsd(amountToken)}${isKnown && !isCheaper ? ", cheaper" : ""}`,
            about: "Always a dollar for a dollar of inference.",
          },
          {
            value: "market",
            title: `Market: ${isKnown ? `about ${roughUsd(marketCost * 1_000n)}` : "…"}${isCheaper ? ", cheaper" : ""}`,
            about: isCheaper
              ? `Others sell theirs there. You save about ${roughUsd(saved * 1_000n)}.`
              : isKnown
                ? "Others sell theirs there, at the moment for more."
                : "Others sell theirs there. Asking for the price …",
            disabled: !isCheaper,
          },
        ]}
      />
      {maxCostToken === null ? null : (
        <p className="small quiet">
          You pay at most {tokenUsd(maxCostToken)}: the price of this moment and {Number(MARKET_SLIPPAGE_BPS) / 100} %.
          Should the market ask more, nothing is bought.
        </p>
      )}
    </>
  );
}
