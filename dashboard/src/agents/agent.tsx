import { stablecoinUnits } from "@inference/protocol/money";
import type { AgentBooks } from "@inference/sdk/agents";
import type { OfferState } from "@inference/sdk/offers";
import { type ReactNode, useState } from "react";
import { zeroAddress } from "viem";
import { shortHex, tokenUsd, usd } from "../format.ts";
import { chainName } from "../gateway.ts";
import { CodeBlock } from "../parts/code.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Amount, Button, ButtonLink, Card, Fact, Head, Hex, Meter, Read } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import type { Wallet } from "../wallet/wallet.ts";
import { Back } from "./back.tsx";
import { Exits, OwnBacking } from "./backing.tsx";
import { Capacity } from "./capacity.tsx";
import { Offer } from "./offer.tsx";
import { type AgentParts, isOwner, type Token, units, useAgent, useBacking, useOffer } from "./parts.tsx";
import { ReserveForm } from "./reserve.tsx";
import { SetUp } from "./steps.tsx";

/** An agent's page: for its owner, its backers, and everybody else. */
export function Agent({ wallet, token }: { wallet: Wallet; token: Token }): ReactNode {
  const from = useAgent(wallet, token);
  const offer = useOffer(token);
  return (
    <Read from={from} what="agent" height={400}>
      {(agent) => (
        <Read from={offer} what="offer" height={400}>
          {(state) => <Known {...{ wallet, agent, state }} />}
        </Read>
      )}
    </Read>
  );
}

function Known({ wallet, agent, state }: AgentParts & { state: OfferState }): ReactNode {
  const { query } = useRoute();
  const [isBacking, back] = useState(false);
  const isOwn = isOwner({ wallet, agent });
  const isSettingUp = isOwn && query.has("setup");
  const isNew = agent.stake === 0n || agent.computer === zeroAddress;
  const primary = wallet.directory.chains.find(({ role }) => role === "primary");
  return (
    <>
      <Head
        title={agent.name || shortHex(agent.token)}
        side={
          isSettingUp ? undefined : (
            <>
              {isOwn && isNew ? (
                <ButtonLink
                  text="Go on with the setup"
                  href={pathTo("agents", agent.token, { setup: "1" })}
                  className="first"
                />
              ) : null}
              <Button text="Back this agent" act={() => back(true)} />
            </>
          )
        }
      >
        <span className="row">
          <Hex text={agent.token} label="Copy the address of its token" />
          <span>
            on {primary === undefined ? "the primary chain" : chainName(primary)}, owned by{" "}
            {isOwn ? "you" : <span className="mono">{shortHex(agent.owner)}</span>}
          </span>
        </span>
      </Head>
      {isSettingUp ? <SetUp {...{ wallet, agent, state }} /> : null}
      <Capacity agent={agent} state={state} />
      <div className="two">
        <div className="stack">
          <Earnings agent={agent} />
          <Stake wallet={wallet} agent={agent} />
          <Places agent={agent} />
        </div>
        <div className="stack">
          <OwnBacking wallet={wallet} agent={agent} />
          <Exits wallet={wallet} token={agent.token} />
          {isSettingUp ? null : <Offer {...{ wallet, agent, state }} />}
          <CodeBlock label="infer" text={commands(agent.token)} />
        </div>
      </div>
      {isBacking ? (
        <Dialog title={`Back ${agent.name}`} close={() => back(false)}>
          <Back {...{ wallet, agent }} done={() => back(false)} />
        </Dialog>
      ) : null}
    </>
  );
}

/** The division of sales, and the amounts that wait for their payout. */
function Earnings({ agent }: { agent: AgentBooks }): ReactNode {
  const { owedSafeNanoUsd: safe, owedTreasuryNanoUsd: treasury } = agent;
  return (
    <Card
      title="Earned, not paid out yet"
      side={
        <strong>
          <Amount nanoUsd={safe + treasury} />
        </strong>
      }
      isFlush
    >
      <ul className="rows">
        <li className="split">
          <span>To its Safe, in dollars</span>
          <span className="quiet">40% of a sale</span>
          <Amount nanoUsd={safe} />
        </li>
        <li className="split">
          <span>To its treasury, staked for good</span>
          <span className="quiet">50% of a sale</span>
          <Amount nanoUsd={treasury} />
        </li>
        <li className="hint">
          10% goes back to the customers in tokens. A sale is counted here once its charge is settled on the chain.
        </li>
      </ul>
    </Card>
  );
}

/** Who staked. The rows add up to the stake. */
function Stake({ wallet, agent }: AgentParts): ReactNode {
  const [isCapping, cap] = useState(false);
  const own = useBacking(wallet, agent.token).data?.amount ?? 0n;
  const { stake, backing, reserve } = agent;
  const rows = [
    { name: "You", amount: own },
    { name: own === 0n ? "Backers" : "Other backers", amount: backing > own ? backing - own : 0n },
    { name: "For good: treasury and gifts", amount: stake > backing ? stake - backing : 0n },
  ];
  return (
    <Card title="Stake" side={<span className="hint">{units(stake)} staked</span>} isFlush>
      <ul className="rows">
        {rows.map(({ name, amount }) => (
          <li key={name} className="split">
            <span>{name}</span>
            <Meter used={Number(amount)} whole={Number(stake) * 1.2} />
            <span className="number">{units(amount)}</span>
          </li>
        ))}
        <li className="row apart">
          <span>{reserve === null ? "No cap: all of it is capacity." : `Cap: ${units(reserve)}.`}</span>
          {isOwner({ wallet, agent }) ? (
            <Button text="Change the cap" className="little" act={() => cap(true)} />
          ) : null}
        </li>
      </ul>
      {isCapping ? (
        <Dialog title="Cap its capacity" close={() => cap(false)}>
          <ReserveForm {...{ wallet, agent }} done={() => cap(false)} />
        </Dialog>
      ) : null}
    </Card>
  );
}

function Places({ agent }: { agent: AgentBooks }): ReactNode {
  const dollars = (amount: bigint): string => tokenUsd(amount / stablecoinUnits(agent.dollarDecimals));
  return (
    <Card title="Safe and treasury">
      <dl className="facts">
        <Place label="Safe" address={agent.safe}>
          It has {dollars(agent.safeDollars)} in dollars and {tokenUsd(agent.safeToken)} in tokens. Its owners pay from
          it.
        </Place>
        <Place label="Treasury" address={agent.treasury}>
          {agent.treasuryDollars === 0n ? usd(0) : dollars(agent.treasuryDollars)} waits to be staked.
        </Place>
      </dl>
    </Card>
  );
}

function Place({ label, address, children }: { label: string; address: Token; children: ReactNode }): ReactNode {
  return (
    <Fact name={label} className="stack tight">
      <Hex text={address} label={`Copy the address of the ${label}`} />
      <span className="small quiet">{children}</span>
    </Fact>
  );
}

const commands = (token: Token): string => `infer agent earnings \\
  ${token}
infer agent offer \\
  ${token}`;
