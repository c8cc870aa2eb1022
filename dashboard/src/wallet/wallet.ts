import { type Connection, connect } from "@inference/sdk/connection";
import { useMemo } from "react";
import { useConfig, useConnection } from "wagmi";
import { type Directory, useDirectory } from "../gateway.ts";
import { chainTransport, walletAccount } from "./account.ts";
import { type Session, useSessionOf } from "./session.ts";

/** A wallet that is connected. */
export type Wallet = {
  address: `0x${string}`;
  /** The wallet's present chain; undefined: unknown. */
  chainId: number | undefined;
  directory: Directory;
  /** Asks the wallet for signatures. */
  acting: Connection;
};

/** Null: no wallet is connected. */
export function useWallet(): Wallet | null {
  const config = useConfig();
  const { address, chainId } = useConnection();
  const { data: directory } = useDirectory();
  const acting = useMemo(() => {
    if (address === undefined || directory === undefined) return null;
    return connect({
      gateway: location.origin,
      account: walletAccount(config, address),
      chains: Object.fromEntries(
        directory.chains.map((chain) => [chain.chain_id, { transport: chainTransport(config, chain) }]),
      ),
    });
  }, [config, address, directory]);
  if (address === undefined || directory === undefined || acting === null) return null;
  return { address, chainId, directory, acting };
}

/** A wallet that has signed in. */
export type SignedIn = Wallet & Session;

export function useSignedIn(wallet: Wallet | null): SignedIn | null {
  const session = useSessionOf(wallet?.address ?? null);
  return wallet === null || session === null ? null : { ...wallet, ...session };
}
