import type { KeyRequest } from "@inference/protocol/key-message";
import { type NewApiKey, type PreparedKeyRequest, prepareKeyRequest } from "@inference/sdk/keys";
import { type UseQueryResult, useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Form } from "../parts/form.tsx";
import { Button, Failure } from "../parts.tsx";
import { LOOK } from "../wallet/act.tsx";
import type { Wallet } from "../wallet/wallet.ts";

/** Half of the time for which a text is valid. */
const EVERY_MS = 300_000;

/** The text of a request about a key, as the wallet signs it. A text is valid once: read it again after a signature. */
export function usePrepared(
  { acting, address }: Wallet,
  asked: KeyRequest,
  isOn = true,
): UseQueryResult<PreparedKeyRequest<NewApiKey>> {
  return useQuery({
    queryKey: ["key message", address, asked],
    queryFn: () => prepareKeyRequest(acting, asked),
    enabled: isOn,
    staleTime: EVERY_MS,
    refetchInterval: EVERY_MS,
    gcTime: 0,
  });
}

/** A form whose button has the wallet sign for a key, and below it the text that the wallet signs. */
export function Sign({ wallet, asked, isValid, text, about, done, children }: SignParts): ReactNode {
  const prepared = usePrepared(wallet, asked, isValid);
  const signing = useMutation({
    mutationFn: async () => (prepared.data ?? (await prepared.refetch({ throwOnError: true })).data)?.sign(),
    onSuccess: (made) => made !== undefined && done(made),
    onSettled: () => void prepared.refetch(),
  });
  return (
    <Form className="stack" submit={() => signing.mutate()}>
      {children}
      <Button text={text} waits={signing.isPending && LOOK} className="first main" disabled={!isValid} />
      {about}
      <Failure error={signing.error ?? prepared.error} />
      <details>
        <summary>Text to sign</summary>
        <pre>
          <code>{prepared.data?.message ?? "Preparing the text …"}</code>
        </pre>
      </details>
    </Form>
  );
}
type SignParts = {
  wallet: Wallet;
  asked: KeyRequest;
  isValid: boolean;
  text: string;
  about?: ReactNode;
  /** The fields. */
  children?: ReactNode;
  done: (made: NewApiKey) => void;
};
