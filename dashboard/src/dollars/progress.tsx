import { ClientError, ContractError } from "@inference/sdk/errors";
import type { ReactNode } from "react";
import { fromNow, shortHex, tokenUsd, when } from "../format.ts";
import { chainName } from "../gateway.ts";
import { Card, CopyButton, Note, textOf } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import type { Plan } from "./plan.ts";
import type { PlanState } from "./use-plan.ts";

type Mark = "done" | "now" | "failed" | "later";

/** Where the dollars are, step by step. */
export function Progress({ wallet, plan, state }: { wallet: Wallet; plan: Plan; state: PlanState }): ReactNode {
  const chain = wallet.directory.chains.find(({ chain_id: id }) => id === plan.chainId);
  const on = chainName(chain ?? { chain_id: plan.chainId, name: null });
  const { error, isRunning, isElsewhere } = state;
  const isAsked = plan.kept !== null && plan.kept.hash === undefined;
  const mayGoOn = !plan.isCredited && !isRunning && !isElsewhere;
  const mayLook = plan.kept !== null && !isBurned(plan) && !plan.isCredited && !isElsewhere;
  const steps = stepsOf(plan, state, on);
  const said = steps
    .filter(({ mark }) => mark === "now" || mark === "failed")
    .map(({ title, mark }) => `${title}: ${SAID[mark]}`);
  const title = plan.isCredited
    ? `${tokenUsd(BigInt(plan.amountToken))} added`
    : `Adding ${tokenUsd(BigInt(plan.amountToken))} from ${on}`;
  return (
    <Card title={title} className={plan.isCredited ? "keep" : ""}>
      <ol className="steps" aria-label="Steps">
        {steps.map(({ title, mark, about }, index) => (
          <li key={title} className={mark} aria-current={mark === "now" ? "step" : undefined}>
            <span className="mark" aria-hidden="true">
              {mark === "done" ? "✓" : mark === "failed" ? "!" : index + 1}
            </span>
            <div className="stack tight">
              <strong>
                {title}
                <span className="hidden">: {SAID[mark]}</span>
              </strong>
              {about === undefined ? null : <span className="quiet">{about}</span>}
            </div>
          </li>
        ))}
      </ol>
      <p className="hidden" role="status">
        {plan.isCredited ? "The dollars are in your balance." : said}
      </p>
      {error === undefined ? null : <Problem {...{ error, on, plan }} />}
      {plan.isCredited ? (
        <div className="row">
          <a className="button first" href="#/keys">
            Make a key
          </a>
          <button type="button" onClick={state.clear}>
            Add more
          </button>
        </div>
      ) : null}
      {isElsewhere ? <Note>Another tab of this browser goes on with it. This one shows how far it is.</Note> : null}
      {mayGoOn ? (
        <div className="row">
          <button type="button" className="first" onClick={() => state.goOn()}>
            {error === undefined ? "Continue" : "Try again"}
          </button>
          {isBought(plan) && !plan.isMinted && plan.kept === null ? (
            <button type="button" onClick={() => state.goOn({ maxCostToken: null })}>
              Pay {tokenUsd(BigInt(plan.amountToken))} at the fixed price instead
            </button>
          ) : null}
          {plan.pay === "either" && !plan.isMinted && plan.kept === null ? (
            <button type="button" onClick={() => state.goOn({ pay: "approve" })}>
              Pay by approval instead
            </button>
          ) : null}
          {plan.kept === null || isBurned(plan) ? (
            <button type="button" onClick={state.clear}>
              {endOf(plan, error)}
            </button>
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
          <button type="button" className="little" onClick={state.notSent}>
            It was not sent
          </button>
        </div>
      ) : null}
      {isRunning && plan.kept !== null && !isAsked ? (
        <div className="row">
          <button type="button" className="little" onClick={state.stop}>
            Stop waiting
          </button>
        </div>
      ) : null}
      {(plan.unsent ?? []).length > 0 && plan.kept === null && mayGoOn ? (
        <p className="small quiet">
          The chain does not show it. If your wallet still has the request, decline it there before you go on.
        </p>
      ) : null}
      {plan.shown?.hash ? (
        <div className="row small quiet">
          <span>
            Transaction <span className="mono">{shortHex(plan.shown.hash)}</span>
          </span>
          <CopyButton text={plan.shown.hash} label="Copy its number" />
        </div>
      ) : null}
      {isRunning ? <p className="small quiet">You may close this page: it goes on where it was.</p> : null}
    </Card>
  );
}

const SAID: Readonly<Record<Mark, string>> = { done: "done", now: "now", failed: "stopped", later: "later" };

function stepsOf(plan: Plan, { isRunning, error }: PlanState, on: string) {
  const { shown, isMinted, isCredited } = plan;
  const live: Mark = isRunning ? "now" : error === undefined ? "later" : "failed";
  const isSent = shown?.step.startsWith("activate") === true && plan.kept?.hash !== undefined;
  const isFinal = isSent && (shown?.stage === "final" || shown?.stage === "waiting");
  const isAfar = shown?.step === "activateFrom";
  const pays = shown === null ? "Your wallet pays the dollars." : doingOf(plan);
  const steps: { title: string; mark: Mark; about?: ReactNode }[] = [
    {
      title: isBought(plan) ? "Buy tokens on the market" : "Pay the dollars, get tokens",
      mark: isMinted ? "done" : live,
      about: isMinted ? undefined : pays,
    },
    {
      title: "Activate the tokens",
      mark: isSent || isCredited ? "done" : isMinted ? live : "later",
      about: isSent || isCredited ? undefined : isMinted ? doingOf(plan) : "They are used up, and become your balance.",
    },
    {
      title: `Wait until ${on} cannot undo it`,
      mark: isFinal || isCredited ? "done" : isSent ? live : "later",
      about: isSent && !isFinal && !isCredited ? "A moment, or some minutes: each chain takes its time." : undefined,
    },
    {
      title: "In your balance",
      mark: isCredited ? "done" : isFinal ? live : "later",
      about: isFinal && !isCredited ? <Waiting plan={plan} isAfar={isAfar} /> : undefined,
    },
  ];
  return steps;
}

/** Whether its tokens are used up: the rest happens without this page. */
const isBurned = ({ kept, shown }: Plan): boolean =>
  kept?.step.startsWith("activate") === true && ["confirmed", "final", "waiting"].includes(shown?.stage ?? "");

function endOf(plan: Plan, error: unknown): string {
  if (isBurned(plan)) return "Close: it goes on without this page";
  if (error instanceof ContractError && error.hash !== null) return "Stop here";
  return plan.isMinted ? "Stop here and keep the tokens" : "Cancel";
}

const isBought = ({ maxCostToken = null }: Plan): boolean => maxCostToken !== null;

function doingOf({ shown, kept }: Plan): string {
  if (kept !== null && kept.hash === undefined) return "Look at your wallet and confirm there.";
  if (kept !== null) return "Sent. Waiting until the chain has it …";
  if (shown?.step === "approve" && shown.stage === "confirmed") return "Approved. Next your wallet pays.";
  return "Your wallet will ask you to confirm.";
}

function Waiting({ plan: { shown }, isAfar }: { plan: Plan; isAfar: boolean }): ReactNode {
  return (
    <>
      {shown?.waitsFor ?? (isAfar ? "On its way from that chain." : "The service reads it next.")}
      {shown?.dueAt == null ? null : (
        <>
          {" "}
          At the latest {when(shown.dueAt)} ({fromNow(shown.dueAt)}).
        </>
      )}
    </>
  );
}

/** What went wrong, and what to do. */
function Problem({ error, on, plan }: { error: unknown; on: string; plan: Plan }): ReactNode {
  const code = error instanceof ClientError ? error.code : undefined;
  const words =
    code === "wallet_rejected" ? (
      <p>
        You declined in your wallet, so nothing was {plan.isMinted ? "activated: the tokens are still yours" : "paid"}.
        Try again when you are ready.
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
