import { setReserve } from "@inference/sdk/agents";
import { type FormEvent, type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { useAct } from "./act.ts";
import { type AgentParts, amountIn, bare, capacityOf, Failed, UnitsField } from "./parts.tsx";

/** The owner caps how much of the stake is capacity. */
export function ReserveForm({ wallet, agent, done }: AgentParts & { done?: () => void }): ReactNode {
  const [text, setText] = useState(agent.reserve === null ? "" : bare(agent.reserve));
  const amount = amountIn(text, null);
  const act = useAct(
    (given: bigint | null, options) =>
      setReserve(wallet.acting, { agentToken: agent.token, amount: given, ...options }),
    done,
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (amount !== null) act.start(amount);
  };
  const next = amount === null ? null : capacityOf({ ...agent, reserve: amount });
  return (
    <form className="stack" onSubmit={submit}>
      <UnitsField
        label="Cap, in units"
        about={`Each unit is $1.00 a day. Stake above the cap gives no capacity.`}
        {...{ text, set: setText, most: null, has: "" }}
      />
      {next === null ? null : (
        <p>
          {agent.name} has {usd(next)} a day from 00:00 UTC on.
        </p>
      )}
      <div className="row">
        <button type="submit" className="first" disabled={amount === null || act.isPending}>
          {act.isPending ? act.waits : "Set the cap"}
        </button>
        {agent.reserve === null ? null : (
          <button type="button" disabled={act.isPending} onClick={() => act.start(null)}>
            Remove the cap
          </button>
        )}
      </div>
      <Failed error={act.error} />
    </form>
  );
}
