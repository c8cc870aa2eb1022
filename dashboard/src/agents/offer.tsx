import { parseShareBps, STANDING_DAY } from "@inference/protocol/offer";
import { DAY_MS } from "@inference/protocol/window";
import { setComputer } from "@inference/sdk/agents";
import { type OfferState, putOffer } from "@inference/sdk/offers";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { isAddressEqual, zeroAddress } from "viem";
import { useConfig } from "wagmi";
import { shortHex, when } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Amount, Card, Field } from "../parts.tsx";
import { walletAccount } from "../wallet/account.ts";
import { AGENTS, useAct } from "./act.ts";
import { ActForm, type AgentParts, Failed, isOwner } from "./parts.tsx";

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
          <dt>{offer.day === STANDING_DAY ? "Share of each day" : "Share of today"}</dt>
          <dd>{offer.share_bps / 100}%</dd>
          <dt>Ends</dt>
          <dd>{offer.day === STANDING_DAY ? "When withdrawn" : `${when(today.resets_at)} UTC`}</dd>
          <dt>Still for sale today</dt>
          <dd>
            <Amount nanoUsd={today.left_nano_usd} />
          </dd>
        </dl>
      )}
      <dl className="facts right">
        <dt>Signed by computer</dt>
        <dd className="mono" title={agent.computer}>
          {agent.computer === zeroAddress ? "none" : signs ? "your wallet" : shortHex(agent.computer)}
        </dd>
      </dl>
      {signs ? (
        <div className="row">
          <button type="button" disabled={put.isPending} onClick={() => change(true)}>
            {offer === null ? "Offer capacity" : "Change share"}
          </button>
          {offer === null ? null : (
            <button
              type="button"
              className="danger"
              disabled={put.isPending}
              onClick={() => put.start({ day: offer.day, shareBps: 0 })}
            >
              {put.isPending ? put.waits : "Withdraw"}
            </button>
          )}
        </div>
      ) : isOwner({ wallet, agent }) ? (
        <BecomeSigner wallet={wallet} agent={agent} />
      ) : null}
      <Failed error={put.error} />
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
    (terms: { day: number; shareBps: number }) => {
      const computer = walletAccount(config, wallet.address);
      return putOffer(wallet.acting, { computer, agentToken: agent.token, ...terms });
    },
    (answer) => {
      queries.setQueryData([AGENTS, "offer", agent.token], answer);
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
  // The gateway's day counts, not this machine's.
  const ofToday = Date.parse(state.today.date) / DAY_MS;
  const day = isStanding ? STANDING_DAY : ofToday;
  const start = shareBps === undefined ? null : () => put.start({ day, shareBps });
  return (
    <ActForm act={put} label="Sign the offer" start={start}>
      <Field
        label="Share to sell, in percent"
        about={`Customers pay the list price. ${agent.name} can use whatever is not sold yet at any time.`}
        error={shareBps === undefined ? "A percentage from 0.01 to 100." : undefined}
      >
        {(props) => (
          <input {...props} inputMode="decimal" value={text} onChange={({ target }) => setText(target.value)} />
        )}
      </Field>
      <div className="choices">
        {[true, false].map((each) => (
          <label key={String(each)} className="choice">
            <input type="radio" name={agent.token} checked={isStanding === each} onChange={() => setStanding(each)} />
            <span>{each ? "Every day, until withdrawn" : "Today only"}</span>
          </label>
        ))}
      </div>
    </ActForm>
  );
}

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
        <button type="button" disabled={act.isPending} onClick={() => act.start(null)}>
          {act.isPending ? act.waits : "Sign offers with this wallet"}
        </button>
      </div>
      <Failed error={act.error} />
    </div>
  );
}
