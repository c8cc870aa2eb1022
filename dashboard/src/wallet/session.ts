import { type Connection, connect } from "@inference/sdk/connection";
import { ClientError, RefusedError } from "@inference/sdk/errors";
import {
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useMemo } from "react";
import { store, useStored } from "../stored.ts";

/**
 * Sessions by address, for as long as the tab is open: a reload needs no new signature. The address that is used now is
 * kept too, so that pages that only read load no code of wallets.
 */
const nameOf = (address: string): string => `session:${address.toLowerCase()}`;
const CURRENT = "session-address";

/** A signed-in account: enough to read everything of it. */
export type Session = {
  address: `0x${string}`;
  token: string;
  /** Reads with the session, and never asks a wallet. */
  reading: Connection;
};

/** The session of the address that is used now; null: signed out. */
export function useSession(): Session | null {
  return useSessionOf(useStored(sessionStorage, CURRENT));
}

/** The session of this address; null: it has not signed in. */
export function useSessionOf(address: string | null): Session | null {
  const token = useStored(sessionStorage, address === null ? null : nameOf(address));
  return useMemo(() => {
    if (address === null || token === null) return null;
    const reading = connect({ gateway: location.origin, session: token });
    return { address: address as `0x${string}`, token, reading };
  }, [address, token]);
}

/** @param token Null: the session is over. */
export function keepSession(address: string, token: string | null): void {
  store(sessionStorage, nameOf(address), token);
  setAddress(address);
}

/** Says which address is used now; null: none, because its wallet was disconnected. */
export function setAddress(address: string | null): void {
  store(sessionStorage, CURRENT, address);
}

/** Reads data with a session. An expired session is deleted, and the page asks to sign in again. */
export function useOwn<T>(
  { address, reading, token }: Session,
  name: readonly unknown[],
  read: (reading: Connection) => Promise<T>,
  everyMs: number | false = false,
  isOn = true,
): UseQueryResult<T> {
  return useQuery({
    queryKey: ["own", address, token, ...name],
    refetchInterval: everyMs,
    enabled: isOn,
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

/** Changes something of the account with its session, and then reads the account again. */
export function useChange<T>(
  { reading }: Session,
  change: (reading: Connection) => Promise<T>,
  done?: (result: T) => void,
): UseMutationResult<T, Error, void> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => change(reading),
    onSuccess: async (result) => {
      await queries.invalidateQueries({ queryKey: ["own"] });
      done?.(result);
    },
  });
}

function isOver(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === "no_credential";
  return error instanceof RefusedError && (error.code === "session_expired" || error.code === "invalid_session");
}
