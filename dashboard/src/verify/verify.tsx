import { type ChainOptions, connect } from "@inference/sdk/connection";
import { notProven } from "@inference/sdk/verify/judge";
import { verify } from "@inference/sdk/verify/verify";
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { type ReactNode, useState } from "react";
import { http, isAddress } from "viem";
import { useConfig } from "wagmi";
import { save } from "../activity/download.ts";
import { useDirectory } from "../gateway.ts";
import { Code } from "../parts/code.tsx";
import { Field, TextField } from "../parts/form.tsx";
import { Button, Failure, Head, Skeleton } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { walletAccount, walletTransport } from "../wallet/account.ts";
import { NeedsSession } from "../wallet/gate.tsx";
import { WithWallet } from "../wallet/provider.tsx";
import { type SignedIn, useSignedIn, useWallet } from "../wallet/wallet.ts";
import { AccountVerdict, NotProven } from "./account-verdict.tsx";
import { firstChoice, type NodeChoice, NodeChooser, nodeName } from "./node-choice.tsx";
import { OneReceipt } from "./one-receipt.tsx";
import { readReceipts } from "./receipt-log.ts";
import { FileInput, SavedProof } from "./saved-proof.tsx";
import { TITLES } from "./sums.ts";
import { VerdictHead } from "./verdict.tsx";

/** Charges and reserves, checked in the browser against the chains. */
export default function Verify(): ReactNode {
  return (
    <WithWallet>
      <Page />
    </WithWallet>
  );
}

function Page(): ReactNode {
  const [choice, choose] = useState(firstChoice);
  const [contract, setContract] = useState(localStorage.getItem(TRUSTED) ?? "");
  const chains = useChains(choice, contract);
  const [file, setFile] = useState("");
  const { query } = useRoute();
  const wallet = useWallet();
  const isSignedIn = useSignedIn(wallet) !== null;
  const isForReceipt = query.has("receipt");
  const node = nodeName(choice);
  const trust = (address: string): void => {
    setContract(address);
    localStorage.setItem(TRUSTED, address);
  };
  const advanced = (
    <section key="advanced" className="card" aria-label="Advanced">
      <details open={isForReceipt || query.has("node")}>
        <summary>
          Advanced <span className="hint">Node: {node}</span>
        </summary>
        <div className="stack">
          <NodeChooser choice={choice} choose={choose} hasWallet={wallet !== null} />
          <TextField
            label="Settlement contract that you trust"
            about="Its address on the primary chain, from a source of yours. Kept in this browser."
            error={contract === "" || isAddress(contract) ? undefined : "An address is 0x and 40 hex digits."}
            className="mono"
            placeholder="0x…"
            text={contract}
            set={(text) => trust(text.trim())}
          />
          <Field
            label="Signed receipts of your programs"
            about="JSON lines. The page adds those of its own requests. They stay in this browser."
          >
            {(props) => <FileInput {...props} accept=".jsonl,.json" onText={setFile} />}
          </Field>
        </div>
      </details>
    </section>
  );
  const receipt = <OneReceipt key="receipt" chains={chains} node={node} />;
  const account = (
    <NeedsSession key="account" why="Sign in, and this page checks all that your wallet was charged against the chain.">
      {(signedIn) => (
        <WholeAccount
          {...{ wallet: signedIn, chains, node, file, isFirst: !isForReceipt }}
          advanced={isForReceipt ? null : advanced}
        />
      )}
    </NeedsSession>
  );
  const hasOwnHead = isSignedIn && !isForReceipt;
  return (
    <>
      {hasOwnHead ? null : <Head title="Verify" />}
      {isForReceipt ? [receipt, advanced, account] : isSignedIn ? [account, receipt] : [account, receipt, advanced]}
      <SavedProof />
    </>
  );
}

type Chains = Record<number, ChainOptions>;

/** Where the trusted contract's address is kept in this browser. */
const TRUSTED = "trusted-settlement-contract";

/** The chosen node and contract, both of the primary chain. */
function useChains(choice: NodeChoice, contract: string): Chains {
  const config = useConfig();
  const primary = useDirectory().data?.chains.find(({ role }) => role === "primary");
  if (primary === undefined) return {};
  const own = choice.kind === "own" && choice.url !== "" ? http(choice.url) : undefined;
  const transport = choice.kind === "wallet" ? walletTransport(config, primary) : own;
  const named: ChainOptions = {
    ...(transport === undefined ? {} : { transport }),
    ...(isAddress(contract) ? { contracts: { inferenceSettlement: contract } } : {}),
  };
  return { [primary.chain_id]: named };
}

function WholeAccount({ wallet, chains, node, file, isFirst, advanced }: WholeParts): ReactNode {
  const config = useConfig();
  const log = readReceipts(file);
  const checking = useMutation({
    mutationFn: async () => {
      const account = walletAccount(config, wallet.address);
      const connection = connect({ gateway: location.origin, account, session: wallet.token, chains });
      return { ...(await verify(connection, { log: log ?? undefined })), node };
    },
  });
  const { data, isPending, error, mutate } = checking;
  const buttons = (
    <>
      {data === undefined ? null : (
        <Button
          icon={Download}
          text="Save proof"
          act={() => save("proof.json", "application/json", JSON.stringify(data.evidence))}
        />
      )}
      <Button
        text={data === undefined ? "Check my account" : "Check again"}
        waits={isPending && "Checking …"}
        className="first"
        act={() => mutate()}
      />
    </>
  );
  const side = (
    <>
      {advanced}
      <Code tabs={[{ name: "infer", text: "infer verify --save proof.json" }]} label="Command" />
    </>
  );
  return (
    <>
      {isFirst ? (
        <Head title="Verify" side={buttons} />
      ) : (
        <div className="row apart">
          <h2>Your account</h2>
          <div className="row">{buttons}</div>
        </div>
      )}
      <div className="contents" aria-live="polite">
        <Failure error={error} />
        {data !== undefined && !isPending ? (
          <AccountVerdict {...data} side={side} />
        ) : (
          <>
            <section className="card flush" aria-label="Verdict">
              <VerdictHead kind="unknown" title={isPending ? "Checking …" : "Not checked yet"} isLarge>
                {isPending
                  ? "Reading your receipts, your statements and the reserves of every chain. It can take a minute."
                  : "This browser follows every charge of your account to the chain, and adds up the reserves."}
              </VerdictHead>
            </section>
            <div className="two">
              <ToCheck isPending={isPending} hasLog={log !== null} />
              <div className="stack side-cards">
                <NotProven all={notProven({ log, period: null })} />
                {side}
              </div>
            </div>
          </>
        )}
      </div>
    </>
  );
}
type WholeParts = {
  wallet: SignedIn;
  chains: Chains;
  node: string;
  file: string;
  /** Whether the account is the first thing on the page, under the page's title. */
  isFirst: boolean;
  advanced: ReactNode;
};

/** The checks before they are made, without a result. */
function ToCheck({ isPending, hasLog }: { isPending: boolean; hasLog: boolean }): ReactNode {
  const titles = Object.entries(TITLES).filter(([id]) => hasLog || id !== "requests");
  return (
    <section className="card flush" aria-label="Checks of the account">
      <ul className="check-list" aria-label="Checks">
        {titles.map(([id, title]) => (
          <li key={id} className="to-check">
            <span className="mark" aria-hidden="true" />
            <span className="quiet">{title}</span>
            {isPending ? <Skeleton width={120} height={14} /> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
