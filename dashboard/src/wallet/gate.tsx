import { signIn } from "@inference/sdk/session";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { shortHex } from "../format.ts";
import { Card, Failure } from "../parts.tsx";
import { ConnectList } from "./connect.tsx";
import { WithWallet } from "./provider.tsx";
import { keepSession } from "./session.ts";
import { type SignedIn, useSignedIn, useWallet, type Wallet } from "./wallet.ts";

/** Shows its content once a wallet is connected. */
export function NeedsWallet({ why, children }: Gate<Wallet>): ReactNode {
  return (
    <WithWallet>
      <Connected why={why}>{children}</Connected>
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

function Connected({ why, children }: Gate<Wallet>): ReactNode {
  const wallet = useWallet();
  if (wallet !== null) return children(wallet);
  return (
    <Card title="First, connect a wallet">
      <p className="quiet">{why}</p>
      <ConnectList />
    </Card>
  );
}

/** Shows its content once the wallet has signed in. */
export function Signed({ why, wallet, children }: Gate<SignedIn> & { wallet: Wallet }): ReactNode {
  const signed = useSignedIn(wallet);
  const opening = useMutation({
    mutationFn: () => signIn(wallet.acting),
    onSuccess: (token) => keepSession(wallet.address, token),
  });
  if (signed !== null) return children(signed);
  return (
    <Card title="Sign in with your wallet">
      <p className="quiet">{why}</p>
      <p>
        Your wallet asks you to sign one message that says that you are{" "}
        <span className="mono">{shortHex(wallet.address)}</span>. It costs nothing and moves nothing. It is good for a
        day, in this tab.
      </p>
      <p>
        <button type="button" className="first" disabled={opening.isPending} onClick={() => opening.mutate()}>
          {opening.isPending ? "Look at your wallet …" : "Sign in"}
        </button>
      </p>
      {opening.error === null ? null : <Failure error={opening.error} />}
    </Card>
  );
}
