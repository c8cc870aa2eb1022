import { parseCredential } from "@inference/protocol/credential";
import { type ChainOptions, connect } from "@inference/sdk/connection";
import { ClientError } from "@inference/sdk/errors";
import type { Evidence } from "@inference/sdk/verify/evidence";
import { judge, notProven, type Verdict } from "@inference/sdk/verify/judge";
import { verify } from "@inference/sdk/verify/verify";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { http } from "viem";
import { useConfig } from "wagmi";
import { save } from "../activity/download.ts";
import type { Directory } from "../gateway.ts";
import { useDirectory } from "../gateway.ts";
import { Card, Failure, Field, Head, Note } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { walletAccount, walletTransport } from "../wallet/account.ts";
import { NeedsSession } from "../wallet/gate.tsx";
import { WithWallet } from "../wallet/provider.tsx";
import { type SignedIn, useSignedIn, useWallet } from "../wallet/wallet.ts";
import { checkReceipt } from "./check-receipt.ts";
import { Findings } from "./findings.tsx";
import { firstChoice, type NodeChoice, NodeChooser, nodeName } from "./node-choice.tsx";
import { readReceipts } from "./receipt-log.ts";

/** Bills, checked in the browser against the blockchain. */
export default function Verify(): ReactNode {
  return (
    <>
      <Head title="Check a bill">
        Every charge leads to a record on a blockchain, which nobody can change. This page computes each step itself and
        names the party that you have to trust for it.
      </Head>
      <WithWallet>
        <OneReceipt />
      </WithWallet>
      <NeedsSession why="To check all that your wallet was ever charged.">
        {(wallet) => <WholeAccount wallet={wallet} />}
      </NeedsSession>
      <KeptEvidence />
    </>
  );
}

function useChains(choice: NodeChoice): Record<number, ChainOptions> {
  const config = useConfig();
  const { data } = useDirectory();
  const chains = (data as Directory | undefined)?.chains ?? [];
  if (choice.kind === "service") return {};
  return Object.fromEntries(
    chains.flatMap((chain): [number, ChainOptions][] => {
      if (choice.kind === "wallet") return [[chain.chain_id, { transport: walletTransport(config, chain) }]];
      return chain.role === "primary" && choice.url !== "" ? [[chain.chain_id, { transport: http(choice.url) }]] : [];
    }),
  );
}

function useNode() {
  const [choice, choose] = useState(firstChoice);
  return { choice, choose, chains: useChains(choice) };
}

function OneReceipt(): ReactNode {
  const { query } = useRoute();
  const wallet = useWallet();
  const signed = useSignedIn(wallet);
  const [id, setId] = useState(query.get("receipt") ?? "");
  const [apiKey, setApiKey] = useState("");
  const { choice, choose, chains } = useNode();
  const checking = useMutation({
    mutationFn: () => {
      const node = nodeName(choice);
      const credential = parseCredential(apiKey.trim());
      if (credential !== undefined) {
        const reading = connect({ gateway: location.origin, apiKey: apiKey.trim(), chains });
        return checkReceipt(reading, { account: credential.subject, id: id.trim(), node });
      }
      if (signed === null) throw new ClientError("no_credential", "Enter the API key that made the request.");
      const reading = connect({ gateway: location.origin, session: signed.token, chains });
      return checkReceipt(reading, { account: signed.address, id: id.trim(), node });
    },
  });
  return (
    <Card title="One receipt">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          checking.mutate();
        }}
      >
        <div className="fields">
          <Field label="Number of the receipt" about="In the answer as x-request-id, and in the list of receipts.">
            {(props) => (
              <input {...props} value={id} placeholder="req_…" onChange={({ target }) => setId(target.value)} />
            )}
          </Field>
          <Field
            label="API key that made it"
            about={signed === null ? "It stays in this page." : "Not needed: your wallet has signed in."}
          >
            {(props) => (
              <input
                {...props}
                type="password"
                autoComplete="off"
                value={apiKey}
                onChange={({ target }) => setApiKey(target.value)}
              />
            )}
          </Field>
        </div>
        <NodeChooser choice={choice} choose={choose} hasWallet={wallet !== null} />
        <p>
          <button type="submit" className="first" disabled={checking.isPending || id.trim() === ""}>
            {checking.isPending ? "Checking …" : "Check this receipt"}
          </button>
        </p>
      </form>
      <div aria-live="polite">{checking.data === undefined ? null : <Findings findings={checking.data} />}</div>
      {checking.error === null ? null : <Failure error={checking.error} />}
    </Card>
  );
}

function WholeAccount({ wallet }: { wallet: SignedIn }): ReactNode {
  const config = useConfig();
  const { choice, choose, chains } = useNode();
  const [file, setFile] = useState("");
  const log = readReceipts(file);
  const checking = useMutation({
    mutationFn: async () => {
      const account = walletAccount(config, wallet.address);
      const connection = connect({ gateway: location.origin, account, session: wallet.token, chains });
      return { ...(await verify(connection, { log: log ?? undefined })), node: nodeName(choice) };
    },
  });
  const { data } = checking;
  return (
    <Card title="All that you were charged">
      <p className="quiet">
        Every receipt, every statement and every dollar of your account, and the books of all chains. It can take a
        minute. Requests that this page made are compared with the signed receipts that it kept; add those of your own
        programs as a file.
      </p>
      <NodeChooser choice={choice} choose={choose} hasWallet />
      <Field label="Signed receipts of your programs" about="JSON lines, as in the guide for clients. They stay here.">
        {(props) => <FileInput {...props} accept=".jsonl,.json" onText={setFile} />}
      </Field>
      <NotProven lines={notProven({ log, period: null })} />
      <div className="row">
        <button type="button" className="first" disabled={checking.isPending} onClick={() => checking.mutate()}>
          {checking.isPending ? "Checking …" : "Check everything"}
        </button>
        {data === undefined ? null : (
          <button
            type="button"
            onClick={() => save("evidence.json", "application/json", JSON.stringify(data.evidence))}
          >
            Keep the evidence
          </button>
        )}
      </div>
      <div aria-live="polite">{data === undefined ? null : <Judged {...data} />}</div>
      {checking.error === null ? null : <Failure error={checking.error} />}
    </Card>
  );
}

/** Judges stored evidence, without a network. */
function KeptEvidence(): ReactNode {
  const judging = useMutation({
    mutationFn: async (text: string) => {
      const evidence = JSON.parse(text) as Evidence;
      if (evidence.version !== 4) throw new Error("It is of another version.");
      return judge(evidence, { isBundle: true });
    },
  });
  return (
    <Card title="Evidence that was kept">
      <p className="quiet">
        A file from “Keep the evidence”, or of the command line, also the bill of a month. It is judged here and sent
        nowhere; whoever made it is believed for what the chain says. The command line asks a node that you name.
      </p>
      <Field label="The file">
        {(props) => <FileInput {...props} accept="application/json,.json" onText={judging.mutate} />}
      </Field>
      <div aria-live="polite">
        {judging.data === undefined ? null : (
          <>
            <Judged {...judging.data} />
            <NotProven lines={judging.data.notProven} />
          </>
        )}
      </div>
      {judging.error === null ? null : <Failure error={new Error("This file is no evidence of this version.")} />}
    </Card>
  );
}

/** @param node The node of the main chain; absent: the evidence has the chain's part. */
function Judged({ checks, node }: Pick<Verdict, "checks"> & { node?: string }): ReactNode {
  return (
    <div className="stack">
      {node === undefined ? null : (
        <p>
          The main chain was read through <strong>{node}</strong>.
        </p>
      )}
      <Findings
        findings={checks.map(({ title, outcome, detail, trusts }) => ({
          ...{ outcome, detail },
          trusts: trusts.map((each) => each.replace("a node that the client chose", node ?? "a node that it names")),
          title: title.slice(0, 1).toUpperCase() + title.slice(1),
        }))}
      />
    </div>
  );
}

function NotProven({ lines }: { lines: readonly string[] }): ReactNode {
  return (
    <Note>
      <strong>What no check shows</strong>
      <ul>
        {lines.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    </Note>
  );
}

function FileInput({ onText, ...props }: { onText: (text: string) => void; accept: string; id: string }): ReactNode {
  const read = async (file: File | undefined) => file !== undefined && onText(await file.text());
  return <input {...props} type="file" onChange={({ target }) => void read(target.files?.[0])} />;
}
