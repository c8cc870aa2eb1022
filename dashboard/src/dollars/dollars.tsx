import { type ReactNode, useState } from "react";
import { useStatus } from "../gateway.ts";
import { Segments } from "../parts/form.tsx";
import { Card, Head, KeepFocus } from "../parts.tsx";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { AutoTopUps } from "./auto-top-up.tsx";
import { History } from "./history.tsx";
import { PayForm } from "./pay-form.tsx";
import { Progress } from "./progress.tsx";
import { usePayment } from "./use-payment.ts";
import { Guide, OnPhone } from "./ways.tsx";

/** Where the reader's dollars are. */
type Way = "browser" | "phone" | "none" | "card";

/** From dollars, wherever they are, to a balance. */
export default function Dollars(): ReactNode {
  const [way, choose] = useState<Way>("browser");
  const onRamp = useStatus().data?.operator.on_ramp_url ?? null;
  const ways: [Way, string][] = [
    ["browser", "Wallet in this browser"],
    ["phone", "Wallet on a phone"],
    ["none", "No wallet yet"],
    ...(onRamp === null ? [] : [["card", "Card"] as [Way, string]]),
  ];
  return (
    <>
      <Head title="Add funds">
        One dollar in is one dollar of inference, without a fee. Added funds cannot be withdrawn.
      </Head>
      <div className="stack tight ways">
        <h2>Where are your dollars?</h2>
        <Segments label="Where are your dollars?" value={way} options={ways} set={choose} />
      </div>
      {way === "phone" ? <OnPhone /> : null}
      {way === "none" ? <Guide /> : null}
      {way === "card" && onRamp !== null ? <ByCard url={onRamp} /> : null}
      {way === "browser" ? (
        <NeedsWallet why="Your wallet pays, and the balance belongs to its address.">
          {(wallet) => <Own key={wallet.address} wallet={wallet} />}
        </NeedsWallet>
      ) : null}
    </>
  );
}

function ByCard({ url }: { url: string }): ReactNode {
  return (
    <Card title="Buy dollars with a card">
      <p>
        Another company sells them and sends them to your wallet. It sets its own price and terms. Then come back and
        choose “Wallet in this browser”.
      </p>
      <p>
        <a className="button first" href={url} rel="noreferrer">
          Continue at {new URL(url).host}
        </a>
      </p>
    </Card>
  );
}

function Own({ wallet }: { wallet: Wallet }): ReactNode {
  const state = usePayment(wallet);
  return (
    <KeepFocus>
      {state.payment === null ? (
        <PayForm wallet={wallet} begin={state.begin} />
      ) : (
        <Progress wallet={wallet} payment={state.payment} state={state} />
      )}
      <AutoTopUps wallet={wallet} />
      <History wallet={wallet} />
    </KeepFocus>
  );
}
