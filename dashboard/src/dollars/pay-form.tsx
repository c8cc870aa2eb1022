import { parseDecimal } from "@inference/protocol/money";
import type { Payment } from "@inference/sdk/payment";
import { type FormEvent, type ReactNode, useState } from "react";
import { tokenUsd } from "../format.ts";
import { type Chain, chainName, dollarName } from "../gateway.ts";
import { Card, Failure, Field, Note } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { DoorChooser, useDoors } from "./doors.tsx";
import { useHoldings } from "./holdings.ts";

/** The form for amount, chain and price. */
export function PayForm({ wallet, begin }: { wallet: Wallet; begin: (payment: Payment) => void }): ReactNode {
  const { chains } = wallet.directory;
  const [chosen, choose] = useState(
    () => chains.find(({ chain_id: id }) => id === wallet.chainId)?.chain_id ?? chains[0]?.chain_id,
  );
  const [text, setText] = useState("5");
  const [wanted, setSource] = useState<"dollars" | "tokens">("dollars");
  const [pay, setPay] = useState<Payment["pay"]>("either");
  const chain = chains.find(({ chain_id: id }) => id === chosen);
  const holdings = useHoldings(wallet, chain?.chain_id ?? 0);
  // Without tokens there is no choice.
  const source = holdings.data !== undefined && holdings.data.tokens > 0n ? wanted : "dollars";
  const amount = parseDecimal(text.trim(), 6);
  const doors = useDoors(wallet, chain, source === "dollars" ? amount : undefined);
  if (chain === undefined) return <Note kind="warn">The service names no chain at the moment.</Note>;
  const has = holdings.data === undefined ? undefined : holdings.data[source];
  const error =
    amount === undefined || amount === 0n
      ? "Enter an amount in dollars, such as 5 or 0.50."
      : has !== undefined && (doors.maxCostToken ?? amount) > has
        ? `Your wallet has ${tokenUsd(has)} of it on this chain.`
        : undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (amount === undefined || error !== undefined || doors.state === "asked") return;
    begin({
      chainId: chain.chain_id,
      amountToken: String(amount),
      pay,
      maxCostToken: doors.maxCostToken === null ? null : String(doors.maxCostToken),
      isMinted: source === "tokens",
      isCredited: false,
      kept: null,
      shown: null,
    });
  };
  return (
    <form onSubmit={submit} className="two">
      <Card title="How much?">
        <fieldset className="stack tight">
          <legend>Where are your dollars?</legend>
          <div className="choices">
            {chains.map((each) => (
              <label key={each.chain_id} className="choice">
                <input
                  type="radio"
                  name="chain"
                  checked={each.chain_id === chosen}
                  onChange={() => choose(each.chain_id)}
                />
                <span>
                  <strong>{chainName(each)}</strong>
                  <span className="small quiet">
                    {dollarName(each)}
                    {each.role === "primary" ? ", the fastest" : ", takes minutes, at times longer"}
                  </span>
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        <Field label="Dollars" error={error}>
          {(props) => (
            <input
              {...props}
              inputMode="decimal"
              autoComplete="off"
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
        {holdings.data !== undefined && holdings.data.tokens > 0n ? (
          <fieldset className="stack tight">
            <legend>Pay with</legend>
            <div className="choices">
              {(["dollars", "tokens"] as const).map((each) => (
                <label key={each} className="choice">
                  <input type="radio" name="source" checked={source === each} onChange={() => setSource(each)} />
                  <span>
                    <strong>{each === "dollars" ? dollarName(chain) : "Your tokens"}</strong>
                    <span className="small quiet number">{tokenUsd(holdings.data[each])}</span>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
        ) : null}
        {amount === undefined ? null : <DoorChooser doors={doors} amountToken={amount} />}
        <details>
          <summary>If your wallet cannot sign a permit</summary>
          <label className="choice">
            <input
              type="checkbox"
              checked={pay === "approve"}
              onChange={({ target }) => setPay(target.checked ? "approve" : "either")}
            />
            <span>Approve the payment with a transaction of its own. It costs a little more.</span>
          </label>
        </details>
        <p>
          <button type="submit" className="first" disabled={error !== undefined || doors.state === "asked"}>
            Add {amount === undefined ? "dollars" : tokenUsd(amount)}
          </button>
        </p>
      </Card>
      <Card title="Your wallet there">
        {holdings.error !== null && holdings.data === undefined ? (
          <Failure error={holdings.error} again={() => void holdings.refetch()} />
        ) : (
          <dl className="facts">
            <dt>{dollarName(chain)}</dt>
            <dd className="number">{holdings.data === undefined ? "…" : tokenUsd(holdings.data.dollars)}</dd>
            <dt>Tokens</dt>
            <dd className="number">{holdings.data === undefined ? "…" : tokenUsd(holdings.data.tokens)}</dd>
          </dl>
        )}
        <WalletNotes wallet={wallet} chain={chain} />
      </Card>
    </form>
  );
}

/** Obstacles to a payment, shown before the wallet is asked. */
function WalletNotes({ wallet, chain }: { wallet: Wallet; chain: Chain }): ReactNode {
  const { data } = useHoldings(wallet, chain.chain_id);
  const primary = wallet.directory.chains.find(({ role }) => role === "primary") ?? chain;
  const { data: onPrimary } = useHoldings(wallet, primary.chain_id);
  return (
    <>
      {wallet.chainId === chain.chain_id ? null : (
        <Note>
          <p>Your wallet is on another chain. It will ask you to switch to {chainName(chain)}.</p>
        </Note>
      )}
      {data?.isContract ? (
        <Note>
          <p>
            This is a smart account, such as a Safe. It approves the payment with a transaction first, and may need the
            signatures of several owners: this page waits for them, and you may close it meanwhile.
          </p>
        </Note>
      ) : data !== undefined && onPrimary?.isContract ? (
        <Note kind="warn">
          <p>
            <strong>Your smart account is not on {chainName(chain)}.</strong> It can pay on {chainName(primary)}, where
            it is.
          </p>
        </Note>
      ) : data !== undefined && data.coin === 0n ? (
        <Note kind="warn">
          <p>
            <strong>Nothing to pay for transactions with.</strong> Each one costs a little of the chain's own coin. Send
            some to your wallet on {chainName(chain)} first.
          </p>
        </Note>
      ) : null}
    </>
  );
}
