import { type Backing, claimRewards, payExit, readExits, unback } from "@inference/sdk/backing";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { fromNow, shortHex, tokenUsd, when } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Amount, Button, Card, Failure, Read, Stat } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { ActForm, useAct, useOnChain } from "../wallet/act.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { type AgentParts, amountIn, bare, type Token, UnitsField, units, useBacking } from "./parts.tsx";

/** The wallet's own stake under an agent: its rewards, and the way out. */
export function OwnBacking({ wallet, agent }: AgentParts): ReactNode {
  const from = useBacking(wallet, agent.token);
  return (
    <Card title="Your backing">
      <Read from={from} what="backing">
        {(backing) => <Rewards {...{ wallet, agent, backing }} />}
      </Read>
    </Card>
  );
}

function Rewards({ wallet, agent, backing }: AgentParts & { backing: Backing }): ReactNode {
  const [isLeaving, leave] = useState(false);
  const { amount, claimableToken } = backing;
  const claim = useAct((_: null, options) => claimRewards(wallet.acting, { agentToken: agent.token, ...options }));
  if (amount === 0n && claimableToken === 0n) {
    return <p className="quiet">You do not back {agent.name}. Backers share half of the tokens that its fees mint.</p>;
  }
  return (
    <>
      <Stat label="Rewards to claim" about="In tokens. Each UTC day's rewards are paid out over the next day.">
        <Amount nanoUsd={claimableToken * 1_000n} />
      </Stat>
      <Button
        text={claimableToken === 0n ? "Nothing to claim yet" : `Claim ${tokenUsd(claimableToken)}`}
        waits={claim.waits}
        className="first"
        disabled={claimableToken === 0n}
        act={() => claim.start(null)}
      />
      <Failure error={claim.error} />
      <div className="row apart">
        <span>{units(amount)} backed</span>
        {amount === 0n ? null : (
          <Button text="Withdraw, paid after 1 day" className="plain little" act={() => leave(true)} />
        )}
      </div>
      {isLeaving ? (
        <Dialog title={`Withdraw from ${agent.name}`} close={() => leave(false)}>
          <Unback {...{ wallet, agent, most: amount }} done={() => leave(false)} />
        </Dialog>
      ) : null}
    </>
  );
}

function Unback({ wallet, agent, most, done }: AgentParts & { most: bigint; done: () => void }): ReactNode {
  const [text, setText] = useState("");
  const amount = amountIn(text, most);
  const act = useAct(
    (given: bigint, options) => unback(wallet.acting, { agentToken: agent.token, amount: given, ...options }),
    done,
  );
  return (
    <ActForm {...{ act, label: "Withdraw", start: amount === null ? null : () => act.start(amount) }}>
      <UnitsField
        label="Units to withdraw"
        about={`You back ${agent.name} with ${units(most)}.`}
        {...{ text, set: setText, most, has: "you back it with" }}
      />
      <p>
        The stake gives {agent.name} its capacity to the end of this UTC day. It is paid to you one day after this
        transaction, with a second one.
      </p>
    </ActForm>
  );
}

/** Withdrawals that are not paid yet. Nothing while there are none. @param token Of this agent only. */
export function Exits({ wallet, token }: { wallet: Wallet; token?: Token }): ReactNode {
  const { acting, address } = wallet;
  const from = useOnChain(["exits", address], () => readExits(acting, address), 60_000);
  const act = useAct((exitId: bigint, options) => payExit(acting, { exitId, ...options }));
  const isShown = (each: Token): boolean => token === undefined || each.toLowerCase() === token.toLowerCase();
  return (
    <Read from={from} what="withdrawals" height={48}>
      {(all) => {
        const exits = all.filter(({ agentToken }) => isShown(agentToken));
        if (exits.length === 0) return null;
        return (
          <Card title="Withdrawals" isFlush>
            <ul className="rows">
              {exits.map(({ exitId, agentToken, amount, readyAt, isReady }) => (
                <li key={String(exitId)} className="row apart">
                  <span className="stack tight">
                    <strong>{bare(amount)} units</strong>
                    <span className="hint">
                      {isReady ? `Ready since ${when(readyAt)} UTC` : `On ${when(readyAt)} UTC, ${fromNow(readyAt)}`}
                      {token === undefined ? (
                        <>
                          {" "}
                          from <Link href={pathTo("agents", agentToken)}>{shortHex(agentToken)}</Link>
                        </>
                      ) : null}
                    </span>
                  </span>
                  <Button text="Pay out" waits={act.waits} disabled={!isReady} act={() => act.start(exitId)} />
                </li>
              ))}
            </ul>
            <Failure error={act.error} />
          </Card>
        );
      }}
    </Read>
  );
}
