import { parseCredential } from "@inference/protocol/credential";
import { type ChainOptions, connect } from "@inference/sdk/connection";
import { ClientError } from "@inference/sdk/errors";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Form, TextField } from "../parts/form.tsx";
import { Button, Card, Failure } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { useSignedIn, useWallet } from "../wallet/wallet.ts";
import { checkReceipt } from "./check-receipt.ts";
import { countOf, Findings } from "./findings.tsx";
import { VerdictHead } from "./verdict.tsx";

/** One receipt, followed to the chain with a session or with the API key that made the request. */
export function OneReceipt({ chains, node }: OneReceiptParts): ReactNode {
  const { query } = useRoute();
  const signed = useSignedIn(useWallet());
  const [id, setId] = useState(query.get("receipt") ?? "");
  const [apiKey, setApiKey] = useState("");
  const checking = useMutation({
    mutationFn: () => {
      const account = parseCredential(apiKey.trim())?.subject;
      const owner = account ?? signed?.address;
      if (owner === undefined) throw new ClientError("no_credential", "Enter the API key that made the request.");
      const credential = account === undefined ? { session: signed?.token } : { apiKey: apiKey.trim() };
      const reading = connect({ gateway: location.origin, ...credential, chains });
      return checkReceipt(reading, { account: owner, id: id.trim(), node });
    },
  });
  return (
    <Card title="One receipt">
      <Form className="stack" submit={() => checking.mutate()}>
        <div className="fields">
          <TextField
            label="Receipt"
            about="The answer's x-request-id, also in Activity."
            placeholder="req_…"
            text={id}
            set={setId}
          />
          <TextField
            label="API key that made it"
            about={signed === null ? "It stays in this page." : "Not needed: you are signed in."}
            type="password"
            text={apiKey}
            set={setApiKey}
          />
        </div>
        <p>
          <Button text={"Check this receipt"} waits={checking.isPending && "Checking …"} disabled={id.trim() === ""} />
        </p>
      </Form>
      <div className="contents" aria-live="polite">
        {checking.data === undefined ? null : (
          <>
            <VerdictHead {...countOf(checking.data)}>
              {checking.data[0]?.detail}.{checking.data.length > 2 ? ` The chain was read through ${node}.` : ""}
            </VerdictHead>
            <Findings findings={checking.data} />
          </>
        )}
      </div>
      <Failure error={checking.error} />
    </Card>
  );
}
type OneReceiptParts = { chains: Record<number, ChainOptions>; node: string };
