import { parseShareBps, STANDING_DAY } from "@inference/protocol/offer";
import { setComputer } from "@inference/sdk/agents";
import { type OfferState, putOffer } from "@inference/sdk/offers";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { isAddressEqual, zeroAddress } from "viem";
import { useConfig } from "wagmi";
import { shortHex, when } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Choices, TextField } from "../parts/form.tsx";
import { Amount, Button, Card, Fact, Failure } from "../parts.tsx";
import { walletAccount } from "../wallet/account.ts";
import { ActForm, ON_CHAIN, useAct } from "../wallet/act.tsx";
import { type AgentParts, isOwner } from "./parts.tsx";

type OfferParts = AgentParts & { state: OfferState };

/** The share of its capacity that an agent sells, and the changes that this wallet may make. */
export function Offer({ wallet, agent, state }: OfferParts): ReactNode {
  const { offer, today } = state;
  const [isChanging, change] = useState(false);
  const signs = isAddressEqual(agent.computer, wallet.address);
  const put = usePut({ wallet, agent });
  return (
    <Card
      title="Offer"
      side={<span className={`state ${offer === null ? "" : "good"}`}>{offer === null ? "None" : "Active"}</span>}
    >
      {offer === null ? (
        <p className="quiet">Nothing is for sale.</p>
      ) : (
        <dl className="facts right">
          <Fact
            name={offer.day === STANDING_DAY ? "Share of each day" : "Share of today"}
            value={`${offer.share_bps / 100}%`}
          />
          <Fact name="Ends" value={offer.day === STANDING_DAY ? "When withdrawn" : `${when(today.resets_at)} UTC`} />
          <Fact name="Still for sale today" value={<Amount nanoUsd={today.left_nano_usd} />} />
        </dl>
      )}
      <dl className="facts right">
        <Fact
          name="Signed by computer"
          className="mono"
          value={
            agent.computer === zeroAddress ? (
              "none"
            ) : (
              <span title={agent.computer}>{signs ? "your wallet" : shortHex(agent.computer)}</span>
            )
          }
        />
      </dl>
      {signs ? (
        <div className="row">
          <Button
            text={offer === null ? "Offer capacity" : "Change share"}
            disabled={put.waits !== false}
            act={() => change(true)}
          />
          {offer === null ? null : (
            <Button
              text="Withdraw"
              waits={put.waits}
              className="danger"
              act={() => put.start({ isStanding: false, shareBps: 0 })}
            />
          )}
        </div>
      ) : isOwner({ wallet, agent }) ? (
        <BecomeSigner wallet={wallet} agent={agent} />
      ) : null}
      <Failure error={put.error} />
      {isChanging ? (
        <Dialog title={offer === null ? "Offer capacity" : "Change the offer"} close={() => change(false)}>
          <OfferForm {...{ wallet, agent, state }} done={() => change(false)} />
        </Dialog>
      ) : null}
    </Card>
  );
}

function usePut({ wallet, agent }: AgentParts, done?: () => void) {
  const config = useConfig();
  const queries = useQueryClient();
  return useAct(
    (terms: { isStanding: boolean; shareBps: number }) => {
      const computer = walletAccount(config, wallet.address);
      return putOffer(wallet.acting, { computer, agentToken: agent.token, ...terms });
    },
    (answer) => {
      queries.setQueryData([ON_CHAIN, "offer", agent.token], answer);
      done?.();
    },
  );
}

/** Signs an offer with this wallet, which is the agent's computer. */
export function OfferForm({ done, ...parts }: OfferParts & { done?: () => void }): ReactNode {
  const { agent, state } = parts;
  const [text, setText] = useState(String((state.offer?.share_bps ?? 5_000) / 100));
  const [isStanding, setStanding] = useState(true);
  const put = usePut(parts, done);
  const shareBps = parseShareBps(text.trim());
  const start = shareBps === undefined ? null : () => put.start({ isStanding, shareBps });
  return (
    <ActForm act={put} label="Sign the offer" start={start}>
      <TextField
        label="Share to sell, in percent"
        about={`Customers pay the list price. ${agent.name} can use whatever is not sold yet at any time.`}
        error={shareBps === undefined ? "A percentage from 0.01 to 100." : undefined}
        inputMode="decimal"
        text={text}
        set={setText}
      />
      <Choices label="How long" isHidden options={SPANS} value={isStanding} set={setStanding} />
    </ActForm>
  );
}

const SPANS = [
  { value: true, title: "Every day, until withdrawn" },
  { value: false, title: "Today only" },
];

/** The owner makes this wallet the agent's computer. */
export function BecomeSigner({ wallet, agent }: AgentParts): ReactNode {
  const config = useConfig();
  const act = useAct((_: null, options) => {
    const computer = walletAccount(config, wallet.address);
    return setComputer(wallet.acting, { agentToken: agent.token, computer, ...options });
  });
  return (
    <div className="stack">
      <p className="small quiet">
        {agent.computer === zeroAddress
          ? "A computer is the key that signs offers. Without one nothing can be offered. "
          : "If your wallet becomes the computer, the present computer's offer ends. "}
        Your wallet is asked for a signature, and for a transaction. <code>infer agent computer</code> names a key of
        another machine instead.
      </p>
      <div className="row">
        <Button text="Sign offers with this wallet" waits={act.waits} act={() => act.start(null)} />
      </div>
      <Failure error={act.error} />
    </div>
  );
}
