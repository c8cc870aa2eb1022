import { ClientError, ContractError } from "@inference/sdk/errors";
import { isBurned, type Payment, phaseOf, phases } from "@inference/sdk/payment";
import type { ReactNode } from "react";
import { fromNow, shortHex, tokenUsd, when } from "../format.ts";
import { chainNameIn } from "../gateway.ts";
import { type StepMark, Steps, saidOf } from "../parts/steps.tsx";
import { Button, ButtonLink, Card, CopyButton, Note, textOf } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import type { PaymentState } from "./use-payment.ts";

/** The steps of a payment. */
export function Progress({ wallet, payment, state }: ProgressParts): ReactNode {
  const on = chainNameIn(wallet.directory, payment.chainId);
  const { error, isRunning, isElsewhere } = state;
  const isAsked = payment.kept !== null && payment.kept.hash === undefined;
  const mayGoOn = !payment.isCredited && !isRunning && !isElsewhere;
  const mayLook = payment.kept !== null && !isBurned(payment) && !payment.isCredited && !isElsewhere;
  const steps = stepsOf(payment, state, on);
  const title = payment.isCredited
    ? `${tokenUsd(BigInt(payment.amountToken))} added`
    : `Adding ${tokenUsd(BigInt(payment.amountToken))} from ${on}`;
  return (
    <Card title={title} className={payment.isCredited ? "keep" : ""}>
      <Steps steps={steps} />
      <p className="hidden" role="status">
        {payment.isCredited ? "The dollars are in your balance." : saidOf(steps)}
      </p>
      {error === undefined ? null : <Problem {...{ error, on, payment }} />}
      {payment.isCredited ? (
        <div className="row">
          <ButtonLink text="Create a key" href="/keys/new" className="first" />
          <Button text="Add more" act={state.clear} />
        </div>
      ) : null}
      {isElsewhere ? <Note>Another tab of this browser goes on with it. This one shows how far it is.</Note> : null}
      {mayGoOn ? (
        <div className="row">
          <Button text={error === undefined ? "Continue" : "Try again"} className="first" act={() => state.goOn()} />
          {isBought(payment) && !payment.isMinted && payment.kept === null ? (
            <Button
              text={`Pay ${tokenUsd(BigInt(payment.amountToken))} at the fixed price instead`}
              act={() => state.goOn({ maxCostToken: null })}
            />
          ) : null}
          {payment.pay === "either" && !payment.isMinted && payment.kept === null ? (
            <Button text="Pay by approval instead" act={() => state.goOn({ pay: "approve" })} />
          ) : null}
          {payment.kept === null || isBurned(payment) ? (
            <Button text={endOf(payment, error)} act={state.clear} />
          ) : null}
        </div>
      ) : null}
      {mayLook ? (
        <div className="row">
          <span className="quiet">
            {isAsked
              ? "Nothing there? If your wallet shows no request, or you closed it:"
              : "If your wallet says that it was cancelled, or dropped:"}
          </span>
          <Button text="It was not sent" className="little" act={state.notSent} />
        </div>
      ) : null}
      {isRunning && payment.kept !== null && !isAsked ? (
        <div className="row">
          <Button text="Stop waiting" className="little" act={state.stop} />
        </div>
      ) : null}
      {(payment.unsent ?? []).length > 0 && payment.kept === null && mayGoOn ? (
        <p className="small quiet">
          The chain does not show it. If your wallet still has the request, decline it there before you go on.
        </p>
      ) : null}
      {payment.shown?.hash ? (
        <div className="row small quiet">
          <span>
            Transaction <span className="mono">{shortHex(payment.shown.hash)}</span>
          </span>
          <CopyButton text={payment.shown.hash} label="Copy its number" />
        </div>
      ) : null}
      {isRunning ? <p className="small quiet">You may close this page: it goes on where it was.</p> : null}
    </Card>
  );
}

type ProgressParts = { wallet: Wallet; payment: Payment; state: PaymentState };

/** The phases of the payment, as lines of a list. */
function stepsOf(payment: Payment, { isRunning, error }: PaymentState, on: string) {
  const phase = phaseOf(payment);
  const live: StepMark = isRunning ? "now" : error === undefined ? "later" : "failed";
  const at = phase === "done" ? phases.length : phases.indexOf(phase);
  const { shown } = payment;
  const now: Readonly<Record<(typeof phases)[number], ReactNode>> = {
    pay: shown === null ? "Your wallet pays the dollars." : doingOf(payment),
    activate: doingOf(payment),
    final: "A moment, or some minutes: each chain takes its time.",
    credit: <Waiting shown={shown} />,
  };
  const titles: Readonly<Record<(typeof phases)[number], string>> = {
    pay: isBought(payment) ? "Buy tokens on the market" : "Pay the dollars, get tokens",
    activate: "Activate the tokens",
    final: `Wait until ${on} cannot undo it`,
    credit: "In your balance",
  };
  return phases.map((each, index) => {
    const said = index === at ? now[each] : index > at && each === "activate" ? ACTIVATING : null;
    const mark: StepMark = index < at ? "done" : index === at ? live : "later";
    return { name: titles[each], mark, about: said === null ? null : <span className="quiet">{said}</span> };
  });
}

const ACTIVATING = "They are used up, and become your balance.";

function endOf(payment: Payment, error: unknown): string {
  if (isBurned(payment)) return "Close: it goes on without this page";
  if (error instanceof ContractError && error.hash !== null) return "Stop here";
  return payment.isMinted ? "Stop here and keep the tokens" : "Cancel";
}

const isBought = ({ maxCostToken = null }: Payment): boolean => maxCostToken !== null;

function doingOf({ shown, kept }: Payment): string {
  if (kept !== null && kept.hash === undefined) return "Look at your wallet and confirm there.";
  if (kept !== null) return "Sent. Waiting until the chain has it …";
  if (shown?.step === "approve" && shown.stage === "confirmed") return "Approved. Next your wallet pays.";
  return "Your wallet will ask you to confirm.";
}

function Waiting({ shown }: Pick<Payment, "shown">): ReactNode {
  const dueAt = shown?.dueAt ?? null;
  const isAfar = shown?.step === "activateFrom";
  return (
    <>
      {shown?.waitsFor ?? (isAfar ? "On its way from that chain." : "The service reads it next.")}
      {dueAt === null ? null : ` At the latest ${when(dueAt)} (${fromNow(dueAt)}).`}
    </>
  );
}

/** The error of a payment, with a remedy. */
function Problem({ error, on, payment }: { error: unknown; on: string; payment: Payment }): ReactNode {
  const code = error instanceof ClientError ? error.code : undefined;
  const words =
    code === "wallet_rejected" ? (
      <p>
        You declined in your wallet, so nothing was{" "}
        {payment.isMinted ? "activated: the tokens are still yours" : "paid"}. Try again when you are ready.
      </p>
    ) : code === "insufficient_gas" ? (
      <>
        <p>
          <strong>Too little to pay for the transaction.</strong>
        </p>
        <p>{textOf(error)}</p>
      </>
    ) : code === "price_moved" ? (
      <p>
        The market's price has risen above the most that you agreed to. Nothing was bought. Cancel to see the price now.
      </p>
    ) : code === "wrong_chain" ? (
      <p>Your wallet's node answers for another chain. Switch your wallet to {on}, and try again.</p>
    ) : (
      <p>{textOf(error)}</p>
    );
  return <Note kind={code === "wallet_rejected" ? "warn" : "bad"}>{words}</Note>;
}
