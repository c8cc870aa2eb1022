import { ChevronDown, Copy, LogOut, Settings } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useConnection, useDisconnect } from "wagmi";
import { shortHex } from "../format.ts";
import { chainName, useDirectory } from "../gateway.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Menu } from "../parts/menu.tsx";
import { Button, Failure } from "../parts.tsx";
import { LOOK } from "./act.tsx";
import { ConnectList } from "./connect.tsx";
import { WithWallet } from "./provider.tsx";
import { keepSession, setAddress } from "./session.ts";
import { useSignIn } from "./sign-in.ts";
import { useWallet, type Wallet } from "./wallet.ts";

/** At the top of every page: the account, or the way to log in. */
export default function AccountCorner({ opensAtOnce }: { opensAtOnce: boolean }): ReactNode {
  return (
    <WithWallet>
      <Corner opensAtOnce={opensAtOnce} />
    </WithWallet>
  );
}

function Corner({ opensAtOnce }: { opensAtOnce: boolean }): ReactNode {
  const { status } = useConnection();
  const wallet = useWallet();
  const [isOpen, open] = useState(opensAtOnce);
  const address = wallet?.address ?? null;
  const wasConnected = useRef(false);
  useEffect(() => {
    // The list of wallets is gone by then, and could not close it.
    if (address !== null) open(false);
    // A wallet counts as disconnected too before it was found again.
    if (address !== null || (wasConnected.current && status === "disconnected")) setAddress(address);
    wasConnected.current ||= address !== null;
  }, [address, status]);
  if (wallet !== null) return <Account key={wallet.address} wallet={wallet} />;
  return (
    <>
      <Button text={status === "reconnecting" ? "Connecting …" : "Log in"} act={() => open(true)} />
      {isOpen ? (
        <Dialog title="Connect a wallet" close={() => open(false)}>
          <p className="quiet">
            Your wallet is your account. Logging in costs nothing and moves nothing: the wallet signs one message.
          </p>
          <ConnectList />
        </Dialog>
      ) : null}
    </>
  );
}

function Account({ wallet }: { wallet: Wallet }): ReactNode {
  const { address, chainId } = wallet;
  const { session, isPending, error, start } = useSignIn(wallet);
  const [isFailureRead, readFailure] = useState<unknown>(null);
  const { mutate: disconnect } = useDisconnect();
  const { data } = useDirectory();
  const chain = data?.chains.find(({ chain_id: id }) => id === chainId);
  const leave = (): void => {
    keepSession(address, null);
    disconnect({});
    setAddress(null);
  };
  return (
    <>
      {session === null ? (
        <Button text={"Sign in"} waits={isPending && LOOK} className="wide-only" act={start} />
      ) : null}
      <Menu
        button={
          <button type="button" className="account" aria-label={`Account ${shortHex(address)}`}>
            <Avatar address={address} />
            <span className="wide-only">{shortHex(address)}</span>
            <ChevronDown />
          </button>
        }
        about={
          <>
            <span className="mono wrap">{address}</span>
            <br />
            <span className="hint">on {chain === undefined ? "another chain" : chainName(chain)}</span>
          </>
        }
        entries={[
          {
            text: "Copy address",
            icon: <Copy />,
            act: () => void navigator.clipboard.writeText(address).catch(() => undefined),
          },
          { text: "Settings", icon: <Settings />, href: "/settings" },
          null,
          { text: "Log out", icon: <LogOut />, act: leave },
        ]}
      />
      {error === null || error === isFailureRead ? null : (
        <Dialog title="You are not signed in" close={() => readFailure(error)}>
          <Failure error={error} again={start} />
        </Dialog>
      )}
    </>
  );
}

/** A disc in two colours that belong to the address. */
function Avatar({ address }: { address: string }): ReactNode {
  const [from, to] = [address.slice(2, 8), address.slice(-6)];
  return (
    <span className="avatar" aria-hidden="true" style={{ background: `conic-gradient(#${from}, #${to}, #${from})` }} />
  );
}
