import { type ReactNode, useEffect, useRef } from "react";
import { useConnection, useDisconnect } from "wagmi";
import { shortHex } from "../format.ts";
import { chainName, useDirectory } from "../gateway.ts";
import { CopyButton } from "../parts.tsx";
import { ConnectList } from "./connect.tsx";
import { WithWallet } from "./provider.tsx";
import { keepSession } from "./session.ts";

/** At the top of every page: which wallet is connected. */
export default function WalletCorner({ opensAtOnce }: { opensAtOnce: boolean }): ReactNode {
  return (
    <WithWallet>
      <Corner opensAtOnce={opensAtOnce} />
    </WithWallet>
  );
}

function Corner({ opensAtOnce }: { opensAtOnce: boolean }): ReactNode {
  const { address, chainId, status } = useConnection();
  const { mutate: disconnect } = useDisconnect();
  const { data } = useDirectory();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (opensAtOnce) dialog.current?.showModal();
  }, [opensAtOnce]);
  const close = (): void => dialog.current?.close();
  // The list of wallets is gone by then, and could not close it.
  useEffect(() => {
    if (address !== undefined) dialog.current?.close();
  }, [address]);
  const chain = data?.chains.find(({ chain_id: id }) => id === chainId);
  const leave = (): void => {
    if (address !== undefined) keepSession(address, null);
    disconnect({});
    close();
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {address === undefined ? (
          status === "reconnecting" ? (
            "Connecting …"
          ) : (
            "Connect a wallet"
          )
        ) : (
          <>
            <span className="mono">{shortHex(address)}</span>
            <span className="quiet small">{chain === undefined ? "another chain" : chainName(chain)}</span>
          </>
        )}
      </button>
      <dialog ref={dialog} className="card" aria-labelledby="wallet-title">
        <div className="row apart">
          <h2 id="wallet-title">{address === undefined ? "Connect a wallet" : "Your wallet"}</h2>
          <button type="button" className="little" onClick={close}>
            Close
          </button>
        </div>
        {address === undefined ? (
          <>
            <p className="quiet">This page sees the address that you choose. It can take nothing by itself.</p>
            <ConnectList />
          </>
        ) : (
          <>
            <p className="mono wrap">{address}</p>
            <div className="row">
              <CopyButton text={address} label="Copy the address" />
              <button type="button" className="little" onClick={leave}>
                Disconnect
              </button>
            </div>
          </>
        )}
      </dialog>
    </>
  );
}
