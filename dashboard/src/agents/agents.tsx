import { isAddress } from "@inference/protocol/credential";
import { formatDecimal } from "@inference/protocol/money";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { zeroAddress } from "viem";
import { shortHex } from "../format.ts";
import { Amount, Badge, Card, CopyButton, Field, Figure, Head, Meter, Read } from "../parts.tsx";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { type Agent, agentsMadeBy, type OfferState, readAgent, readOffer } from "./read-agent.ts";

export default function Agents(): ReactNode {
  return (
    <>
      <Head title="Agents">
        An agent is a token with AI capacity of its own: each unit staked for it gives it one dollar of AI a day. What
        it does not use it can sell here.
      </Head>
      <NeedsWallet why="To find the agents that your wallet has made, and to read them from the chain.">
        {(wallet) => <Own key={wallet.address} wallet={wallet} />}
      </NeedsWallet>
    </>
  );
}

function Own({ wallet }: { wallet: Wallet }): ReactNode {
  const [text, setText] = useState("");
  const made = useQuery({
    queryKey: ["agents", wallet.address],
    queryFn: () => agentsMadeBy(wallet.acting, wallet.address),
  });
  const typed = text.trim();
  return (
    <>
      <Read from={made} what="agents">
        {(tokens) =>
          tokens.length === 0 ? (
            <Card title="Your agents">
              <p className="quiet">Your wallet has made none on the main chain.</p>
            </Card>
          ) : (
            tokens.map((token) => <AgentCard key={token} wallet={wallet} token={token} />)
          )
        }
      </Read>
      <Card title="Look at an agent">
        <Field
          label="Address of its token"
          error={typed === "" || isAddress(typed) ? undefined : "0x and 40 digits, as a wallet shows it."}
        >
          {(props) => (
            <input {...props} className="mono" value={text} onChange={({ target }) => setText(target.value)} />
          )}
        </Field>
      </Card>
      {isAddress(typed) ? <AgentCard key={typed} wallet={wallet} token={typed} /> : null}
    </>
  );
}

function AgentCard({ wallet, token }: { wallet: Wallet; token: `0x${string}` }): ReactNode {
  const agent = useQuery({
    queryKey: ["agent", token],
    queryFn: () => readAgent(wallet.acting, token),
    refetchInterval: 30_000,
  });
  const offer = useQuery({ queryKey: ["offer", token], queryFn: () => readOffer(token), refetchInterval: 30_000 });
  return (
    <Read from={agent} what="agent">
      {(data) => (
        <Card
          title={data.name || shortHex(token)}
          side={data.owner.toLowerCase() === wallet.address.toLowerCase() ? <Badge kind="good">yours</Badge> : null}
        >
          <div className="grid">
            <Figure label="AI capacity today" about={reserveText(data)}>
              <Amount nano={data.capacityNanoUsd} />
            </Figure>
            <Figure
              label="Staked for it"
              about={data.stake === 0n ? "Nobody has staked for it." : `${units(data.backing)} of it by backers`}
            >
              {units(data.stake)}
            </Figure>
            <Figure label="Earned, not paid out yet" about="The keeper pays it out.">
              <Amount nano={data.owedSafeNanoUsd + data.owedTreasuryNanoUsd} />
            </Figure>
          </div>
          <Read from={offer} what="offer">
            {(state) => <Offer state={state} />}
          </Read>
          <dl className="facts">
            <Place label="Its token" address={data.token} />
            <Place label="Owner" address={data.owner} />
            <Place label="Safe, gets 40 % of its sales" address={data.safe} />
            <Place label="Treasury, gets 50 % for good" address={data.treasury} />
            <Place label="Computer, signs its offers" address={data.computer} />
          </dl>
        </Card>
      )}
    </Read>
  );
}

function Offer({ state: { offer, today } }: { state: OfferState }): ReactNode {
  if (offer === null) return <p className="quiet">It sells nothing at the moment.</p>;
  return (
    <div className="note good">
      <p>
        <strong>It sells {offer.share_bps / 100} % of today's capacity.</strong> Sold:{" "}
        <Amount nano={today.sold_nano_usd} /> of <Amount nano={today.limit_nano_usd} />; own use:{" "}
        <Amount nano={today.own_use_nano_usd} />.
      </p>
      <Meter used={today.sold_nano_usd + today.held_nano_usd} whole={today.limit_nano_usd} />
    </div>
  );
}

function Place({ label, address }: { label: string; address: `0x${string}` }): ReactNode {
  return (
    <>
      <dt>{label}</dt>
      <dd className="row">
        {address === zeroAddress ? (
          "none"
        ) : (
          <>
            <span className="mono wrap">{address}</span>
            <CopyButton text={address} label="Copy" />
          </>
        )}
      </dd>
    </>
  );
}

/** Staked units have 18 decimals. */
function units(amount: bigint): string {
  return `${formatDecimal(amount - (amount % 10n ** 14n), 18)} units`;
}

function reserveText({ reservation, stake, capacityNanoUsd }: Agent): string {
  if (stake > 0n && capacityNanoUsd === 0n) return "What is staked counts from the next day (UTC) on.";
  return reservation >= stake
    ? "All that is staked."
    : `Its owner lets it use ${units(reservation)} of what is staked.`;
}
