import { isAddress } from "@inference/protocol/credential";
import { formatDecimal } from "@inference/protocol/money";
import { type AgentBooks, agentsMadeBy, readAgent } from "@inference/sdk/agents";
import { readOffer } from "@inference/sdk/offers";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { zeroAddress } from "viem";
import { shortHex, tokenUsd } from "../format.ts";
import { gateway } from "../gateway.ts";
import { Amount, Badge, Card, CopyButton, Field, Head, Read, Stat } from "../parts.tsx";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { Offer } from "./offer.tsx";

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
  const offer = useQuery({
    queryKey: ["offer", token],
    queryFn: () => readOffer(gateway, token),
    refetchInterval: 30_000,
  });
  return (
    <Read from={agent} what="agent">
      {(data) => (
        <Card
          title={data.name || shortHex(token)}
          side={data.owner.toLowerCase() === wallet.address.toLowerCase() ? <Badge kind="good">yours</Badge> : null}
        >
          <div className="grid">
            <Stat label="AI capacity today" about={reserveText(data)}>
              <Amount nanoUsd={data.capacityTodayNanoUsd} />
            </Stat>
            <Stat
              label="Staked for it"
              about={data.stake === 0n ? "Nobody has staked for it." : `${units(data.backing)} of it by backers`}
            >
              {units(data.stake)}
            </Stat>
            <Stat label="Earned, not paid out yet" about="The keeper pays it out.">
              <Amount nanoUsd={data.owedSafeNanoUsd + data.owedTreasuryNanoUsd} />
            </Stat>
          </div>
          <Read from={offer} what="offer">
            {(state) => <Offer wallet={wallet} agent={data} state={state} />}
          </Read>
          <dl className="facts">
            <Place label="Its token" address={data.token} />
            <Place label="Owner" address={data.owner} />
            <Place label="Safe, gets 40 % of its sales" address={data.safe}>
              It has {dollars(data, data.safeDollars)} and {tokenUsd(data.safeToken)} in tokens.
            </Place>
            <Place label="Treasury, gets 50 % for good" address={data.treasury}>
              It has {dollars(data, data.treasuryDollars)} that wait to be staked.
            </Place>
            <Place label="Computer, signs its offers" address={data.computer} />
          </dl>
        </Card>
      )}
    </Read>
  );
}

function Place({ label, address, children }: PlaceParts): ReactNode {
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
        {children === undefined ? null : <span className="small quiet">{children}</span>}
      </dd>
    </>
  );
}
type PlaceParts = { label: string; address: `0x${string}`; children?: ReactNode };

/** @param amount In the stablecoin's own units. */
function dollars({ dollarDecimals }: AgentBooks, amount: bigint): string {
  return tokenUsd(amount / 10n ** BigInt(dollarDecimals - 6));
}

/** Staked units have 18 decimals. */
function units(amount: bigint): string {
  return `${formatDecimal(amount - (amount % 10n ** 14n), 18)} units`;
}

function reserveText({ reserve, stake, capacityTodayNanoUsd }: AgentBooks): string {
  if (stake > 0n && capacityTodayNanoUsd === 0n) return "What is staked counts from the next day (UTC) on.";
  return reserve === null || reserve >= stake
    ? "All that is staked."
    : `Its owner lets it use ${units(reserve)} of what is staked.`;
}
