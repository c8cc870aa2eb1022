import { parseDecimal } from "@inference/protocol/money";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import {
  type AutoTopUp,
  endAutoTopUp,
  type PullTerms,
  pullsBy,
  readAutoTopUps,
  setAutoTopUp,
} from "@inference/sdk/auto-top-up";
import { type ReactNode, useState } from "react";
import { now } from "../clock.ts";
import { shortHex, tokenUsd } from "../format.ts";
import { chainName } from "../gateway.ts";
import { TextField } from "../parts/form.tsx";
import { Button, Card, Fact, Failure, Hex } from "../parts.tsx";
import { ActForm, useAct, useOnChain } from "../wallet/act.tsx";
import type { Wallet } from "../wallet/wallet.ts";

/** The account's standing orders. Absent where no chain has the contract. */
export function AutoTopUps({ wallet }: { wallet: Wallet }): ReactNode {
  const { acting, address } = wallet;
  const { data } = useOnChain(["auto-top-up", address], () => readAutoTopUps(acting, address));
  // A chain without an order and without a puller needs no lines.
  const shown = data?.filter((each) => !("order" in each) || each.order !== null || each.terms !== null) ?? [];
  if (shown.length === 0) return null;
  return (
    <Card title="Auto top-up">
      <p className="quiet">
        An order lets the service turn dollars of your wallet into your balance while it is low. You set the most a day
        and the end, and can end the order at once. The contract enforces both.
      </p>
      {shown.map((each) => (
        <section key={each.chainId} className="stack tight">
          <h3>{chainName({ chain_id: each.chainId, name: each.name })}</h3>
          {"unread" in each ? <p className="quiet">{each.unread}</p> : <OnChain wallet={wallet} own={each} />}
        </section>
      ))}
    </Card>
  );
}

function OnChain({ wallet, own }: { wallet: Wallet; own: AutoTopUp }): ReactNode {
  const { order, terms, chainId } = own;
  const end = useAct((_: null, options) => endAutoTopUp(wallet.acting, { chainId, ...options }));
  if (order === null) {
    return terms === null ? null : (
      <details>
        <summary>Set an order</summary>
        <OrderForm wallet={wallet} chainId={chainId} terms={terms} />
      </details>
    );
  }
  return (
    <>
      <dl className="facts">
        <Fact name="At most a day" value={tokenUsd(order.maxPerDayToken)} className="number" />
        <Fact name="Pulled today, UTC" value={tokenUsd(order.pulledTodayToken)} className="number" />
        <Fact name="Until" value={order.expiresAt.split("T")[0]} />
        <Fact name="Who pulls" value={<Hex text={order.puller} label="Copy the puller's address" />} />
        <Fact name="Allowance left" value={tokenUsd(own.allowanceToken)} className="number" />
      </dl>
      {pullsBy(order, terms) ? null : <p>This service pulls from another address. Set the order again, or end it.</p>}
      <div className="row">
        <Button text="End the order" waits={end.waits} act={() => end.start(null)} />
      </div>
      <Failure error={end.error} />
    </>
  );
}

type FormParts = { wallet: Wallet; chainId: number; terms: PullTerms };

function OrderForm({ wallet, chainId, terms }: FormParts): ReactNode {
  const [text, setText] = useState("5");
  const [until, setUntil] = useState(() => utcDay(now() + 90 * DAY_MS));
  const most = parseDecimal(text.trim(), 6);
  const expiresAt = new Date(until);
  const days = Math.ceil((expiresAt.getTime() - now()) / DAY_MS) || 0;
  const send = useAct((_: null, options) =>
    setAutoTopUp(wallet.acting, { chainId, maxPerDayToken: most ?? 0n, expiresAt, ...options }),
  );
  const wrongAmount =
    most === undefined || most < terms.leastToken ? `At least ${tokenUsd(terms.leastToken)}, such as 5.` : undefined;
  const wrongEnd = days > 0 ? undefined : "A day after today.";
  const isComplete = wrongAmount === undefined && wrongEnd === undefined;
  return (
    <ActForm act={send} label="Set the order" start={isComplete ? () => send.start(null) : null}>
      <TextField inputMode="decimal" label="At most a day, in dollars" error={wrongAmount} text={text} set={setText} />
      <TextField label="Until" error={wrongEnd} type="date" min={utcDay(now() + DAY_MS)} text={until} set={setUntil} />
      <p className="small quiet">
        The service pulls while your balance on chain is below {tokenUsd(terms.belowToken)}, without a fee. That balance
        is booked later than your requests, by about a dollar. The puller is{" "}
        <span className="mono">{shortHex(terms.puller)}</span>. Your wallet asks twice: for the allowance, and for the
        order. Added funds cannot be withdrawn.
      </p>
    </ActForm>
  );
}
