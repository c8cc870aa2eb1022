import { parseDecimal } from "@inference/protocol/money";
import { STANDING_DAY } from "@inference/protocol/offer";
import type { AgentBooks } from "@inference/sdk/agents";
import { setComputer } from "@inference/sdk/agents";
import { type OfferState, putOffer } from "@inference/sdk/offers";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { isAddressEqual, zeroAddress } from "viem";
import { useConfig } from "wagmi";
import { when } from "../format.ts";
import { Amount, Badge, Failure, Field, Meter } from "../parts.tsx";
import { walletAccount } from "../wallet/account.ts";
import type { Wallet } from "../wallet/wallet.ts";

const DAY_MS = 86_400_000;

/** An agent's offer, with a form for its signer. */
export function Offer({ wallet, agent, state }: OfferParts): ReactNode {
  const { offer, today } = state;
  const isSigner = isAddressEqual(agent.computer, wallet.address);
  const isOwner = isAddressEqual(agent.owner, wallet.address);
  return (
    <>
      {offer === null ? (
        <p className="quiet">It sells nothing at the moment.</p>
      ) : (
        <div className="note good">
          <p>
            <strong>
              It sells {offer.share_bps / 100} % of{" "}
              {offer.day === STANDING_DAY ? "each day's capacity" : "today's capacity"}.
            </strong>{" "}
            Sold today: <Amount nanoUsd={today.sold_nano_usd} /> of <Amount nanoUsd={today.limit_nano_usd} />; own use:{" "}
            <Amount nanoUsd={today.own_use_nano_usd} />. The day ends {when(today.resets_at)}.
          </p>
          <Meter used={today.sold_nano_usd + today.held_nano_usd} whole={today.limit_nano_usd} />
        </div>
      )}
      {isSigner ? (
        <ChangeOffer {...{ wallet, agent, state }} />
      ) : isOwner ? (
        <BecomeSigner wallet={wallet} agent={agent} />
      ) : null}
    </>
  );
}
type OfferParts = { wallet: Wallet; agent: AgentBooks; state: OfferState };

function ChangeOffer({ wallet, agent, state: { offer, today } }: OfferParts): ReactNode {
  const config = useConfig();
  const queries = useQueryClient();
  const [text, setText] = useState("50");
  const [isStanding, setStanding] = useState(true);
  const putting = useMutation({
    mutationFn: (terms: { day: number; shareBps: number }) =>
      putOffer(wallet.acting, {
        ...{ computer: walletAccount(config, wallet.address), agentToken: agent.token },
        ...terms,
      }),
    onSuccess: (state) => queries.setQueryData(["offer", agent.token], state),
  });
  const share = Number(parseDecimal(text.trim(), 2) ?? 0n);
  const error = share < 1 || share > 10_000 ? "A percentage from 0.01 to 100." : undefined;
  // The gateway's day counts, not this machine's.
  const ofToday = Date.parse(today.date) / DAY_MS;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (error === undefined) putting.mutate({ day: isStanding ? STANDING_DAY : ofToday, shareBps: share });
  };
  return (
    <form className="stack tight" onSubmit={submit}>
      <h3>{offer === null ? "Sell unused capacity" : "Change the offer"}</h3>
      <Field
        label="Share to sell, in percent"
        about="Others pay what the models cost. You can use whatever is not sold yet yourself, at any time."
        error={error}
      >
        {(props) => (
          <input {...props} inputMode="decimal" value={text} onChange={({ target }) => setText(target.value)} />
        )}
      </Field>
      <div className="choices">
        {[true, false].map((each) => (
          <label key={String(each)} className="choice">
            <input type="radio" name={agent.token} checked={isStanding === each} onChange={() => setStanding(each)} />
            <span>{each ? "Every day, until I stop it" : "Today only"}</span>
          </label>
        ))}
      </div>
      <div className="row">
        <button type="submit" className="first" disabled={putting.isPending || error !== undefined}>
          {putting.isPending ? "Look at your wallet …" : "Sign the offer"}
        </button>
        {offer === null ? null : (
          <button
            type="button"
            disabled={putting.isPending}
            onClick={() => putting.mutate({ day: offer.day, shareBps: 0 })}
          >
            Stop selling
          </button>
        )}
      </div>
      {putting.error === null ? null : <Failure error={putting.error} />}
    </form>
  );
}

/** The owner names the computer that signs offers. */
function BecomeSigner({ wallet, agent }: Omit<OfferParts, "state">): ReactNode {
  const config = useConfig();
  const queries = useQueryClient();
  const naming = useMutation({
    mutationFn: () =>
      setComputer(wallet.acting, {
        agentToken: agent.token,
        computer: walletAccount(config, wallet.address),
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["agent", agent.token] }),
  });
  return (
    <div className="stack tight">
      <p>
        {agent.computer === zeroAddress ? (
          "Nobody may sign offers for it yet."
        ) : (
          <>
            Its offers are signed by its computer, <span className="mono wrap">{agent.computer}</span>. If your wallet
            signs them instead, that computer's offer ends. <Badge kind="warn">one at a time</Badge>
          </>
        )}{" "}
        Your wallet is asked twice: for a signature, and for a transaction that costs a little of the chain's coin.
      </p>
      <p>
        <button type="button" disabled={naming.isPending} onClick={() => naming.mutate()}>
          {naming.isPending ? "Look at your wallet …" : "Sign its offers with this wallet"}
        </button>
      </p>
      {naming.error === null ? null : <Failure error={naming.error} />}
    </div>
  );
}
