import { isAddress } from "@inference/protocol/credential";
import { agentsOf } from "@inference/sdk/backing";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { getAddress } from "viem";
import { Link, useLocation } from "wouter";
import { shortHex, usd } from "../format.ts";
import { Form, TextField } from "../parts/form.tsx";
import { Amount, Badge, Button, ButtonLink, Card, Crumbs, Empty, Fact, Head, Note, Read } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import { useOnChain } from "../wallet/act.tsx";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { Agent } from "./agent.tsx";
import { Exits } from "./backing.tsx";
import { stakeText } from "./capacity.tsx";
import { Create } from "./create.tsx";
import { dayOf } from "./day.ts";
import { isOwner, type Token, units, useAgent, useBacking, useOffer } from "./parts.tsx";

const WHY = "Agents are on the chain. Your wallet reads them, and signs what you change.";

export default function Agents(): ReactNode {
  const { rest } = useRoute();
  if (rest === "") return <List />;
  const isNew = rest === "new";
  return (
    <>
      <Crumbs title="Agents" href="/agents" />
      {isNew ? (
        <Head title="Create an agent">
          A token with inference capacity of its own: $1.00 a day for each staked unit.
        </Head>
      ) : null}
      {isNew || isAddress(rest) ? (
        <NeedsWallet why={WHY}>
          {(wallet) =>
            isNew ? <Create wallet={wallet} /> : <Agent key={rest} wallet={wallet} token={getAddress(rest)} />
          }
        </NeedsWallet>
      ) : (
        <>
          <Head title="No such agent" />
          <Note kind="warn">The address of an agent's token is 0x and 40 hex digits.</Note>
        </>
      )}
    </>
  );
}

function List(): ReactNode {
  return (
    <>
      <Head
        title="Agents"
        side={<ButtonLink icon={Plus} text="Create an agent" href="/agents/new" className="first" />}
      >
        An agent is a token with inference capacity of its own: each unit staked for it gives $1.00 a day. It can sell
        what it does not use.
      </Head>
      <NeedsWallet why={WHY}>{(wallet) => <Own key={wallet.address} wallet={wallet} />}</NeedsWallet>
    </>
  );
}

function Own({ wallet }: { wallet: Wallet }): ReactNode {
  const { acting, address } = wallet;
  const from = useOnChain(["own", address], () => agentsOf(acting, address), false);
  return (
    <>
      <Read from={from} what="agents" height={200}>
        {(tokens) =>
          tokens.length === 0 ? (
            <Card title="Yours">
              <Empty>You have created no agent and back none.</Empty>
            </Card>
          ) : (
            <div className="grid fixed">
              {tokens.map((token) => (
                <AgentCard key={token} wallet={wallet} token={token} />
              ))}
            </div>
          )
        }
      </Read>
      <Exits wallet={wallet} />
      <Find />
    </>
  );
}

function AgentCard({ wallet, token }: { wallet: Wallet; token: Token }): ReactNode {
  const agent = useAgent(wallet, token);
  const offer = useOffer(token);
  const { amount = 0n, claimableToken = 0n } = useBacking(wallet, token).data ?? {};
  return (
    <Read from={agent} what="agent" height={200}>
      {(data) => (
        <Card
          title={<Link href={pathTo("agents", token)}>{data.name || shortHex(token)}</Link>}
          side={
            <Badge kind={isOwner({ wallet, agent: data }) ? "good" : "plain"}>
              {isOwner({ wallet, agent: data }) ? "yours" : "backed"}
            </Badge>
          }
        >
          <Read from={offer} what="offer">
            {(state) => {
              const { capacity, ownUse, sold } = dayOf(data, state);
              return (
                <dl className="facts right">
                  <Fact name="Capacity today" value={<Amount nanoUsd={capacity} />} />
                  <Fact name="Own use" value={<Amount nanoUsd={ownUse} />} />
                  <Fact name="Sold">
                    <Amount nanoUsd={sold} />
                    {state.offer === null ? null : (
                      <>
                        {" "}
                        of <span className="amount">{usd(state.today.limit_nano_usd)}</span>
                      </>
                    )}
                  </Fact>
                  <Fact
                    name="Earned, not paid out yet"
                    value={<Amount nanoUsd={data.owedSafeNanoUsd + data.owedTreasuryNanoUsd} />}
                  />
                  {amount === 0n ? null : <Fact name="Your backing" value={units(amount)} />}
                  {claimableToken === 0n ? null : (
                    <Fact name="Rewards to claim" value={<Amount nanoUsd={claimableToken * 1_000n} />} />
                  )}
                </dl>
              );
            }}
          </Read>
          <p className="hint">{stakeText(data)}</p>
        </Card>
      )}
    </Read>
  );
}

/** Opens the page of any agent, to back it. */
function Find(): ReactNode {
  const [text, setText] = useState("");
  const [, goTo] = useLocation();
  const typed = text.trim();
  const open = (): void => {
    if (isAddress(typed)) goTo(pathTo("agents", typed));
  };
  return (
    <Card title="Back another agent">
      <Form className="stack narrow" submit={open}>
        <TextField
          label="Address of its token"
          error={typed === "" || isAddress(typed) ? undefined : "0x and 40 hex digits, as a wallet shows it."}
          className="mono"
          text={text}
          set={setText}
        />
        <div className="row">
          <Button text="Open its page" disabled={!isAddress(typed)} />
        </div>
      </Form>
    </Card>
  );
}
