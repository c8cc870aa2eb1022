import { signIn } from "@inference/sdk/session";
import { useIsMutating, useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { keepSession } from "./session.ts";
import { useSignedIn, type Wallet } from "./wallet.ts";

/** The address that was connected by the reader just now, and that is to sign in at once. */
let wanted: string | null = null;

/** The next render of `useSignIn` for this address asks the wallet to sign in. */
export function wantSession(address: string): void {
  wanted = address;
}

const SIGN_IN = ["sign-in"];

/** Signing in: one signature, free of charge. */
export function useSignIn(wallet: Wallet) {
  const session = useSignedIn(wallet);
  const isPending = useIsMutating({ mutationKey: SIGN_IN }) > 0;
  const { mutate, error } = useMutation({
    mutationKey: SIGN_IN,
    mutationFn: () => signIn(wallet.acting),
    onSuccess: (token) => keepSession(wallet.address, token),
  });
  useEffect(() => {
    if (wanted !== wallet.address) return;
    wanted = null;
    if (session === null) mutate();
  }, [wallet.address, session, mutate]);
  return { session, isPending, error, start: () => mutate() };
}
