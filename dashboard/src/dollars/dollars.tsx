import type { ReactNode } from "react";
import { Head, KeepFocus } from "../parts.tsx";
import { NeedsWallet } from "../wallet/gate.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { OnTheirWay } from "./on-their-way.tsx";
import { PayForm } from "./pay-form.tsx";
import { Progress } from "./progress.tsx";
import { usePayment } from "./use-payment.ts";

/** From dollars in a wallet to a balance. */
export default function Dollars(): ReactNode {
  return (
    <>
      <Head title="Add dollars">
        One dollar in is one dollar of AI, with nothing taken. What is activated cannot be paid back: begin with a
        little.
      </Head>
      <NeedsWallet why="Your wallet pays the dollars, and the balance belongs to its address.">
        {(wallet) => <Own key={wallet.address} wallet={wallet} />}
      </NeedsWallet>
    </>
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
      <OnTheirWay wallet={wallet} />
    </KeepFocus>
  );
}
