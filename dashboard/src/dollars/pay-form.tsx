import { parseDecimal } from "@inference/protocol/money";
import type { Payment } from "@inference/sdk/payment";
import { type FormEvent, type ReactNode, useState } from "react";
import { tokenUsd } from "../format.ts";
import { type Chain, chainName, coinName, dollarName } from "../gateway.ts";
import { Card, CopyButton, DecimalField, Failure, Note } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { aboutCoins } from "./coins.ts";
import { DoorChooser, useDoors } from "./doors.tsx";
import { useHoldings } from "./holdings.ts";
import { QrCode } from "./qr-code.tsx";
import { usePaymentCost } from "./ways.tsx";

const CHIPS = [5, 20, 50];

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
        ? `Your wallet has ${tokenUsd(has)} on ${chainName(chain)}: ${tokenUsd((doors.maxCostToken ?? amount) - has)} short.`
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
        <div className="chips">
          {CHIPS.map((dollars) => (
            <button
              key={dollars}
              type="button"
              aria-pressed={amount === BigInt(dollars) * 1_000_000n}
              onClick={() => setText(String(dollars))}
            >
              ${dollars}
            </button>
          ))}
        </div>
        <DecimalField label="Dollars" error={error} text={text} set={setText} />
        <fieldset className="stack tight">
          <legend>On which chain?</legend>
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
      </Card>
      <Card title="Total">
        <Total {...{ wallet, chain, amount, cost: source === "tokens" ? 0n : (doors.maxCostToken ?? amount) }} />
        <p>
          <button type="submit" className="first main" disabled={error !== undefined || doors.state === "asked"}>
            Add {amount === undefined ? "dollars" : tokenUsd(amount)}
          </button>
        </p>
        <h3>Your wallet on {chainName(chain)}</h3>
        {holdings.error !== null && holdings.data === undefined ? (
          <Failure error={holdings.error} again={() => void holdings.refetch()} />
        ) : (
          <dl className="facts right">
            <dt>{dollarName(chain)}</dt>
            <dd className="number">{holdings.data === undefined ? "…" : tokenUsd(holdings.data.dollars)}</dd>
            <dt>Tokens</dt>
            <dd className="number">{holdings.data === undefined ? "…" : tokenUsd(holdings.data.tokens)}</dd>
          </dl>
        )}
        <WalletNotes wallet={wallet} chain={chain} />
        <details>
          <summary>Receive {dollarName(chain)} here</summary>
          <div className="phone">
            <QrCode text={wallet.address} label={`A code with your wallet's address ${wallet.address}`} />
            <div className="stack tight">
              <p>
                Send {dollarName(chain)} and a little {coinName(chain)} to this address, on {chainName(chain)} and no
                other chain.
              </p>
              <p className="row">
                <span className="mono">{wallet.address}</span>
                <CopyButton text={wallet.address} label="Copy the address" isIcon />
              </p>
            </div>
          </div>
        </details>
      </Card>
    </form>
  );
}

/** What a payment costs in all, before it begins. @param cost In token units; undefined: not known. */
function Total({ wallet, chain, amount, cost }: TotalParts): ReactNode {
  const { data: gas } = usePaymentCost(chain, wallet.acting);
  const dollars = (units: bigint | undefined): string => (units === undefined ? "–" : tokenUsd(units));
  return (
    <dl className="facts right sum">
      <dt>To your balance</dt>
      <dd className="number">{dollars(amount)}</dd>
      <dt>This service's fee</dt>
      <dd className="number">$0.00</dd>
      <dt>{chain.role === "primary" ? "Gas" : "Gas and message"}</dt>
      <dd className="number">{gas === undefined ? "–" : `about ${aboutCoins(gas)} ${coinName(chain)}`}</dd>
      <dt className="last">You pay{cost === amount ? "" : " at most"}</dt>
      <dd className="number last">{dollars(cost)} and gas</dd>
    </dl>
  );
}
type TotalParts = { wallet: Wallet; chain: Chain; amount: bigint | undefined; cost: bigint | undefined };

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
