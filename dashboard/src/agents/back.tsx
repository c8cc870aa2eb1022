import { readStakingToken, stake } from "@inference/sdk/backing";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Choices } from "../parts/form.tsx";
import { Read } from "../parts.tsx";
import { ActForm, useAct, useOnChain } from "../wallet/act.tsx";
import { type AgentParts, amountIn, bare, UnitsField } from "./parts.tsx";

/** Stakes for an agent: as its backer, or for good. */
export function Back(parts: AgentParts & { done?: () => void }): ReactNode {
  const { acting, address } = parts.wallet;
  const from = useOnChain(["staking", address], () => readStakingToken(acting, address));
  return (
    <Read from={from} what="stake">
      {(held) => <Form {...parts} held={held} />}
    </Read>
  );
}

function Form({ wallet, agent, held, done }: FormParts): ReactNode {
  const [text, setText] = useState("");
  const [as, setAs] = useState<"back" | "gift">("back");
  const amount = amountIn(text, held.amount);
  const act = useAct(
    (given: { amount: bigint; as: "back" | "gift" }, options) =>
      stake(wallet.acting, { agentToken: agent.token, ...given, ...options }),
    () => {
      setText("");
      done?.();
    },
  );
  return (
    <ActForm {...{ act, label: "Stake", start: amount === null ? null : () => act.start({ amount, as }) }}>
      <UnitsField
        label={`Stake, in ${held.symbol}`}
        about={`Your wallet has ${bare(held.amount)} ${held.symbol}. Each one gives ${agent.name} $1.00 a day.`}
        {...{ text, set: setText, most: held.amount, has: "your wallet has" }}
      />
      <Choices label="How to stake" isHidden options={CHOICES} value={as} set={setAs} />
      {amount === null ? null : (
        <p>
          {agent.name} gets {usd(amount / 10n ** 9n)} more capacity a day, from 00:00 UTC on. Its cap can limit that.
        </p>
      )}
      <p className="hint">Your wallet is asked to approve the amount, unless it already has, and then to stake it.</p>
    </ActForm>
  );
}
type FormParts = AgentParts & { held: { amount: bigint; symbol: string }; done?: () => void };

const CHOICES = [
  { value: "back", title: "Back it", about: "You get a share of its rewards, and can withdraw: paid one day later." },
  { value: "gift", title: "For good", about: "The stake is the agent's. You cannot withdraw it and get no rewards." },
] as const;
