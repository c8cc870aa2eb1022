import type { OfferState } from "@inference/sdk/offers";
import { type ReactNode, useState } from "react";
import { zeroAddress } from "viem";
import { Link } from "wouter";
import { usd } from "../format.ts";
import { type StepMark, Steps } from "../parts/steps.tsx";
import { Button, Card, KeepFocus } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { Back } from "./back.tsx";
import { BecomeSigner, OfferForm } from "./offer.tsx";
import { type AgentParts, capacityOf, units } from "./parts.tsx";
import { ReserveForm } from "./reserve.tsx";

/** The whole way of an owner. */
export const STEPS = [
  "Name and create it",
  "Stake for it",
  "Cap its capacity, or leave it",
  "Name its computer",
  "Offer capacity",
  "Earn and claim",
] as const;

/** The steps after the first. Chain and gateway say which are done, so a reload continues them. */
export function SetUp({ wallet, agent, state }: AgentParts & { state: OfferState }): ReactNode {
  const [isUncapped, leaveUncapped] = useState(false);
  const hasComputer = agent.computer !== zeroAddress;
  const isOffered = state.offer !== null;
  const done = [
    true,
    agent.stake > 0n,
    agent.reserve !== null || isUncapped || hasComputer,
    hasComputer,
    isOffered,
    isOffered,
  ];
  const now = done.indexOf(false);
  const results = [
    agent.name,
    `${units(agent.stake)} staked.`,
    agent.reserve === null ? "No cap." : `At most ${usd(capacityOf({ ...agent, stake: agent.reserve }))} a day.`,
    "It can sign offers.",
    `${(state.offer?.share_bps ?? 0) / 100}% is for sale.`,
  ];
  const forms = [
    null,
    <Back key="stake" wallet={wallet} agent={agent} />,
    <div key="cap" className="stack">
      <ReserveForm wallet={wallet} agent={agent} />
      <div className="row">
        <Button text="Go on without a cap" act={() => leaveUncapped(true)} />
      </div>
    </div>,
    <BecomeSigner key="computer" wallet={wallet} agent={agent} />,
    <OfferForm key="offer" {...{ wallet, agent, state }} />,
  ];
  const aboutOf = (index: number): ReactNode => {
    if (index === STEPS.length - 1) return LAST;
    return done[index] ? <p className="quiet">{results[index]}</p> : index === now ? forms[index] : null;
  };
  const markOf = (index: number): StepMark => (done[index] ? "done" : index === now ? "now" : "later");
  return (
    <KeepFocus>
      <Card
        title={`Set up ${agent.name}`}
        side={<Link href={pathTo("agents", agent.token)}>{isOffered ? "Close" : "Later"}</Link>}
      >
        <Steps steps={STEPS.map((name, index) => ({ name, mark: markOf(index), about: aboutOf(index) }))} />
      </Card>
    </KeepFocus>
  );
}

const LAST = (
  <p className="quiet">
    Of each sale 40% goes to the agent's Safe in dollars, 50% to its treasury, which stakes it for good, and 10% back to
    the customer in tokens. Capacity begins at 00:00 UTC after the first stake.
  </p>
);
