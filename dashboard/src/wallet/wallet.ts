import { type Connection, connect } from "@inference/sdk/connection";
import { ClientError, RefusedError } from "@inference/sdk/errors";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useConfig, useConnection } from "wagmi";
import { type Directory, useDirectory } from "../gateway.ts";
import { chainTransport, walletAccount } from "./account.ts";
import { keepSession, useSession } from "./session.ts";

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
export type SignedIn = Wallet & {
  token: string;
  /** Reads with the session, and never asks the wallet. */
  reading: Connection;
};

export function useSignedIn(wallet: Wallet | null): SignedIn | null {
  const token = useSession(wallet?.address ?? "");
  const reading = useMemo(
    () => (token === null ? null : connect({ gateway: location.origin, session: token })),
    [token],
  );
  return wallet === null || token === null || reading === null ? null : { ...wallet, token, reading };
}

/** Reads data with a session. An expired session is deleted, and the page asks to sign in again. */
export function useOwn<T>(
  { address, reading, token }: SignedIn,
  name: readonly unknown[],
  read: (reading: Connection) => Promise<T>,
  everyMs: number | false = false,
): UseQueryResult<T> {
  return useQuery({
    queryKey: ["own", address, token, ...name],
    refetchInterval: everyMs,
    queryFn: async () => {
      try {
        return await read(reading);
      } catch (error) {
        if (isOver(error)) keepSession(address, null);
        throw error;
      }
    },
  });
}

function isOver(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === "no_credential";
  return error instanceof RefusedError && (error.code === "session_expired" || error.code === "invalid_session");
}
