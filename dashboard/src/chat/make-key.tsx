import { parseDecimal } from "@inference/protocol/money";
import { prepareKeyRequest } from "@inference/sdk/keys";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Form, TextField } from "../parts/form.tsx";
import { Button, Card, Failure } from "../parts.tsx";
import { NeedsSession } from "../wallet/gate.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { keepChatKey } from "./chat-key.ts";

/** Makes the page's own key: one signature. */
export default function MakeKey(): ReactNode {
  return (
    <NeedsSession why="Chat is paid from your balance, by a key with its own small limit.">
      {(signedIn) => <MakeForm wallet={signedIn} />}
    </NeedsSession>
  );
}

function MakeForm({ wallet }: { wallet: SignedIn }): ReactNode {
  const [limit, setLimit] = useState("1.00");
  const queries = useQueryClient();
  const nano = parseDecimal(limit.trim(), 9);
  const isLimit = nano !== undefined && nano > 0n;
  const terms = { name: "Chat", limit: limit.trim(), limit_reset: "daily" as const };
  const prepared = useQuery({
    queryKey: ["chat-key-message", wallet.address, terms],
    queryFn: () => prepareKeyRequest(wallet.acting, { type: "create", terms }),
    enabled: isLimit,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const signing = useMutation({
    mutationFn: async () => (prepared.data === undefined ? undefined : prepared.data.sign()),
    onSuccess: (made) => {
      if (made === undefined) return;
      keepChatKey(wallet.address, { key: made.key, id: made.data.id });
      void queries.invalidateQueries({ queryKey: ["own"] });
    },
    // A message is valid once.
    onError: () => void prepared.refetch(),
  });
  return (
    <Card title="Give Chat a key" className="make-key">
      <Form className="stack" submit={() => signing.mutate()}>
        <TextField
          inputMode="decimal"
          label="Limit a day, in dollars"
          error={isLimit ? undefined : "An amount in dollars, such as 1.00."}
          text={limit}
          set={setLimit}
        />
        <p className="quiet">
          Key <strong>Chat</strong>: at most {isLimit ? usd(nano) : "–"} a day, any model, no expiry. It stays in this
          browser, and whoever can use this browser can spend up to its limit. You can disable it on Keys at any time.
        </p>
        <details>
          <summary>Text to sign</summary>
          <pre>
            <code>{prepared.data?.message}</code>
          </pre>
        </details>
        <p>
          <Button
            text="Sign and start"
            waits={signing.isPending && "Look at your wallet …"}
            className="first main"
            disabled={prepared.data === undefined}
          />
        </p>
        <Failure error={prepared.error} again={() => void prepared.refetch()} />
        <Failure error={signing.error} />
      </Form>
    </Card>
  );
}
