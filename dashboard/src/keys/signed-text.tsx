import type { PreparedKeyRequest } from "@inference/sdk/keys";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button, Failure } from "../parts.tsx";
import { LOOK } from "../wallet/act.tsx";

/** The exact text, and the button that has the wallet sign it. */
export function SignedText<T>({ prepared, done, again, about = USUAL }: SignedTextParts<T>): ReactNode {
  const signing = useMutation({
    mutationFn: () => prepared.sign(),
    onSuccess: done,
    // A message is valid once.
    onError: again,
  });
  return (
    <>
      <p className="quiet">{about}</p>
      <pre>
        <code>{prepared.message}</code>
      </pre>
      <p>
        <Button text="Sign" waits={signing.isPending && LOOK} className="first" act={() => signing.mutate()} />
      </p>
      <Failure error={signing.error} />
    </>
  );
}
type SignedTextParts<T> = {
  prepared: PreparedKeyRequest<T>;
  done: (made: T) => void;
  again: () => void;
  about?: ReactNode;
};

const USUAL = "Your wallet must show the same text. Signing is free, and good for ten minutes.";
