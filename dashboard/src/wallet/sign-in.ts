import { signIn } from "@inference/sdk/session";
import { useIsMutating, useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { keepSession } from "./session.ts";
import { useSignedIn, type Wallet } from "./wallet.ts";

/** Whether the wallet that the reader connects now is to sign in at once. */
let isWanted = false;

/** Set before a wallet is connected: the first `useSignIn` with it then asks it to sign in. */
export function wantSession(isNow: boolean): void {
  isWanted = isNow;
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
    if (!isWanted) return;
    isWanted = false;
    if (session === null) mutate();
  }, [session, mutate]);
  return { session, isPending, error, start: () => mutate() };
}
