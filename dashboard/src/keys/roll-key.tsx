import type { ApiKey, NewApiKey } from "@inference/sdk/keys";
import { type ReactNode, useState } from "react";
import { Failure } from "../parts.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { NewKey } from "./new-key.tsx";
import { usePrepared } from "./sign.tsx";
import { SignedText } from "./signed-text.tsx";

/** Another secret for a key. The old one is void at once. */
export function RollKey({ wallet, apiKey, done }: { wallet: SignedIn; apiKey: ApiKey; done: () => void }): ReactNode {
  const [made, setMade] = useState<NewApiKey>();
  const prepared = usePrepared(wallet, { type: "roll", keyId: apiKey.id });
  if (made !== undefined) return <NewKey made={made} done={done} />;
  return (
    <>
      <p>The key gets a new text, and the old one stops working at once. Its limit and its name stay.</p>
      <Failure error={prepared.error} />
      {prepared.data === undefined ? null : (
        <SignedText prepared={prepared.data} done={setMade} again={() => void prepared.refetch()} />
      )}
    </>
  );
}
