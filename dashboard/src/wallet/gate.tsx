import type { ReactNode } from "react";
import { shortHex } from "../format.ts";
import { Button, Card, Failure } from "../parts.tsx";
import { LOOK } from "./act.tsx";
import { ConnectList } from "./connect.tsx";
import { WithWallet } from "./provider.tsx";
import { useSignIn } from "./sign-in.ts";
import { type SignedIn, useWallet, type Wallet } from "./wallet.ts";

/** Shows its content once a wallet is connected. */
export function NeedsWallet({ why, signsIn = true, children }: Gate<Wallet> & { signsIn?: boolean }): ReactNode {
  return (
    <WithWallet>
      <Connected {...{ why, signsIn }}>{children}</Connected>
    </WithWallet>
  );
}

/** Shows its content once a wallet is connected and has signed in. */
export function NeedsSession({ why, children }: Gate<SignedIn>): ReactNode {
  return <NeedsWallet why={why}>{(wallet) => <Signed {...{ why, wallet }}>{children}</Signed>}</NeedsWallet>;
}

type Gate<T> = {
  /** The reason, as a sentence. */
  why: string;
  children: (given: T) => ReactNode;
};

function Connected({ why, signsIn, children }: Gate<Wallet> & { signsIn: boolean }): ReactNode {
  const wallet = useWallet();
  if (wallet !== null) return children(wallet);
  return (
    <Card title="Connect a wallet">
      <p className="quiet">{why}</p>
      <ConnectList signsIn={signsIn} />
    </Card>
  );
}

/** Shows its content once the wallet has signed in. */
export function Signed({ why, wallet, children }: Gate<SignedIn> & { wallet: Wallet }): ReactNode {
  const { session, isPending, error, start } = useSignIn(wallet);
  if (session !== null) return children({ ...wallet, ...session });
  return (
    <Card title="Sign in with your wallet">
      <p className="quiet">{why}</p>
      <p>
        Your wallet asks you to sign one message that says that you are{" "}
        <span className="mono">{shortHex(wallet.address)}</span>. It costs nothing and moves nothing. It is good for a
        day, in this tab.
      </p>
      <p>
        <Button text={"Sign in"} waits={isPending && LOOK} className="first" act={start} />
      </p>
      <Failure error={error} />
    </Card>
  );
}
