import { formatDecimal, parseDecimal } from "@inference/protocol/money";
import { type AgentBooks, readAgent } from "@inference/sdk/agents";
import { type Backing, readBacking } from "@inference/sdk/backing";
import { type OfferState, readOffer } from "@inference/sdk/offers";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isAddressEqual } from "viem";
import { gateway } from "../gateway.ts";
import { Field } from "../parts/form.tsx";
import { Button } from "../parts.tsx";
import { useOnChain } from "../wallet/act.tsx";
import type { Wallet } from "../wallet/wallet.ts";

export type Token = `0x${string}`;
/** A part of an agent's page. */
export type AgentParts = { wallet: Wallet; agent: AgentBooks };

export const useAgent = ({ acting }: Wallet, token: Token): UseQueryResult<AgentBooks> =>
  useOnChain(["agent", token], () => readAgent(acting, token));

export const useOffer = (token: Token): UseQueryResult<OfferState> =>
  useOnChain(["offer", token], () => readOffer(gateway, token));

export const useBacking = ({ acting, address }: Wallet, agentToken: Token): UseQueryResult<Backing> =>
  useOnChain(["backing", agentToken, address], () => readBacking(acting, { agentToken, address }));

export const isOwner = ({ wallet, agent }: AgentParts): boolean => isAddressEqual(agent.owner, wallet.address);

/** To a millionth, rounded down. @param amount Of stake, in 1e-18 unit. */
export function units(amount: bigint): string {
  return `${bare(amount - (amount % MILLIONTH))} ${amount === UNIT ? "unit" : "units"}`;
}

/** The number alone, as a field takes it. */
export const bare = (amount: bigint): string => formatDecimal(amount, 18);

const UNIT = 10n ** 18n;
const MILLIONTH = 10n ** 12n;

/** Each staked unit is a dollar a day: the capacity that the present stake and cap give, in nano-dollar. */
export function capacityOf({ stake, reserve }: AgentBooks): bigint {
  return (reserve === null || reserve > stake ? stake : reserve) / 10n ** 9n;
}

/** A field for units. `most` is what there is; null: no limit. */
export function UnitsField({ label, about, text, set, most, has }: UnitsFieldParts): ReactNode {
  const amount = amountIn(text, null);
  const error =
    text.trim() === ""
      ? undefined
      : amount === null
        ? "A number above 0, such as 100 or 0.5."
        : most !== null && amount > most
          ? `More than ${has}: ${bare(most)}.`
          : undefined;
  return (
    <Field label={label} about={about} error={error}>
      {(props) => (
        <div className="row units">
          <input {...props} inputMode="decimal" value={text} onChange={({ target }) => set(target.value)} />
          {most === null || most === 0n ? null : <Button text="All" act={() => set(bare(most))} />}
        </div>
      )}
    </Field>
  );
}
type UnitsFieldParts = {
  label: string;
  about?: ReactNode;
  text: string;
  set: (text: string) => void;
  most: bigint | null;
  /** Names `most` in the error. */
  has: string;
};

/** The amount of a field; null: it cannot be used. */
export function amountIn(text: string, most: bigint | null): bigint | null {
  const amount = parseDecimal(text.trim(), 18);
  return amount === undefined || amount <= 0n || (most !== null && amount > most) ? null : amount;
}
