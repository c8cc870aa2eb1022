import { parseDecimal } from "@inference/protocol/money";
import type { Payment } from "@inference/sdk/payment";
import { type ReactNode, useState } from "react";
import { tokenUsd } from "../format.ts";
import { type Chain, chainName, coinName, dollarName } from "../gateway.ts";
import { Choices, Form, TextField } from "../parts/form.tsx";
import { Button, Card, Fact, Failure, Note } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { aboutCoins } from "./coins.ts";
import { DoorChooser, useDoors } from "./doors.tsx";
import { useHoldings } from "./holdings.ts";
import { QrAddress } from "./qr-code.tsx";
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
  const { dollars = 0n, tokens = 0n } = holdings.data ?? {};
  // Without tokens there is no choice.
  const source = tokens > 0n ? wanted : "dollars";
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
  const submit = (): void => {
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
    <Form submit={submit} className="two">
      <Card title="How much?">
        <div className="chips">
          {CHIPS.map((chip) => (
            <Button
              text={`$${chip}`}
              key={chip}
              aria-pressed={amount === BigInt(chip) * 1_000_000n}
              act={() => setText(String(chip))}
            />
          ))}
        </div>
        <TextField inputMode="decimal" label="Dollars" error={error} text={text} set={setText} />
        <Choices
          label="On which chain?"
          value={chosen}
          set={choose}
          options={chains.map((each) => ({
            value: each.chain_id,
            title: chainName(each),
            about: `${dollarName(each)}${each.role === "primary" ? ", the fastest" : ", takes minutes, at times longer"}`,
          }))}
        />
        {tokens > 0n ? (
          <Choices
            label="Pay with"
            value={source}
            set={setSource}
            options={[
              { value: "dollars", title: dollarName(chain), about: tokenUsd(dollars) },
              { value: "tokens", title: "Your tokens", about: tokenUsd(tokens) },
            ]}
          />
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
          <Button
            text={`Add ${amount === undefined ? "dollars" : tokenUsd(amount)}`}
            className="first main"
            disabled={error !== undefined || doors.state === "asked"}
          />
        </p>
        <h3>Your wallet on {chainName(chain)}</h3>
        {holdings.error !== null && holdings.data === undefined ? (
          <Failure error={holdings.error} again={() => void holdings.refetch()} />
        ) : (
          <dl className="facts right">
            <Fact name={dollarName(chain)} value={dollarsOf(holdings.data?.dollars, "…")} className="number" />
            <Fact name="Tokens" value={dollarsOf(holdings.data?.tokens, "…")} className="number" />
          </dl>
        )}
        <WalletNotes wallet={wallet} chain={chain} />
        <details>
          <summary>Receive {dollarName(chain)} here</summary>
          <QrAddress text={wallet.address} label="A code with your wallet's address">
            Send {dollarName(chain)} and a little {coinName(chain)} to this address, on {chainName(chain)} and no other
            chain.
          </QrAddress>
        </details>
      </Card>
    </Form>
  );
}

const dollarsOf = (units: bigint | undefined, unknown = "–"): string =>
  units === undefined ? unknown : tokenUsd(units);

/** What a payment costs in all, before it begins. @param cost In token units; undefined: not known. */
function Total({ wallet, chain, amount, cost }: TotalParts): ReactNode {
  const { data: gas } = usePaymentCost(chain, wallet.acting);
  return (
    <dl className="facts right sum">
      <Fact name="To your balance" value={dollarsOf(amount)} className="number" />
      <Fact name="This service's fee" value="$0.00" className="number" />
      <Fact
        name={chain.role === "primary" ? "Gas" : "Gas and message"}
        value={gas === undefined ? "–" : `about ${aboutCoins(gas)} ${coinName(chain)}`}
        className="number"
      />
      <Fact
        name={<>You pay{cost === amount ? "" : " at most"}</>}
        value={`${dollarsOf(cost)} and gas`}
        term="last"
        className="number last"
      />
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
        <Note>Your wallet is on another chain. It will ask you to switch to {chainName(chain)}.</Note>
      )}
      {data?.isContract ? (
        <Note>
          This is a smart account, such as a Safe. It approves the payment with a transaction first, and may need the
          signatures of several owners: this page waits for them, and you may close it meanwhile.
        </Note>
      ) : data !== undefined && onPrimary?.isContract ? (
        <Note kind="warn">
          <strong>Your smart account is not on {chainName(chain)}.</strong> It can pay on {chainName(primary)}, where it
          is.
        </Note>
      ) : data !== undefined && data.coin === 0n ? (
        <Note kind="warn">
          <strong>Nothing to pay for transactions with.</strong> Each one costs a little of the chain's own coin. Send
          some to your wallet on {chainName(chain)} first.
        </Note>
      ) : null}
    </>
  );
}
