import { setReserve } from "@inference/sdk/agents";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Button } from "../parts.tsx";
import { ActForm, useAct } from "../wallet/act.tsx";
import { type AgentParts, amountIn, bare, capacityOf, UnitsField } from "./parts.tsx";

/** The owner caps how much of the stake is capacity. */
export function ReserveForm({ wallet, agent, done }: AgentParts & { done?: () => void }): ReactNode {
  const [text, setText] = useState(agent.reserve === null ? "" : bare(agent.reserve));
  const amount = amountIn(text, null);
  const act = useAct(
    (given: bigint | null, options) =>
      setReserve(wallet.acting, { agentToken: agent.token, amount: given, ...options }),
    done,
  );
  const next = amount === null ? null : capacityOf({ ...agent, reserve: amount });
  return (
    <ActForm
      {...{ act, label: "Set the cap", start: amount === null ? null : () => act.start(amount) }}
      more={
        agent.reserve === null ? null : (
          <Button text="Remove the cap" disabled={act.waits !== false} act={() => act.start(null)} />
        )
      }
    >
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
    </ActForm>
  );
}
