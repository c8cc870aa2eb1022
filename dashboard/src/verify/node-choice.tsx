import { type ReactNode, useState } from "react";
import { Choices, TextField } from "../parts/form.tsx";
import { Button, Note } from "../parts.tsx";

/** The source of chain data. */
export type NodeChoice = { kind: "service" } | { kind: "wallet" } | { kind: "own"; url: string };

/** The node in this page's address, which its policy allows. The maker of the link chose it. */
const linkedNode = new URLSearchParams(location.search).get("node");

const CHOSEN = "chosen-node";

/** A node counts as the reader's own if they have named it in this tab: a link cannot choose it. */
export function firstChoice(): NodeChoice {
  const isChosen = linkedNode !== null && sessionStorage.getItem(CHOSEN) === linkedNode;
  return isChosen ? { kind: "own", url: linkedNode } : { kind: "service" };
}

/** The party that this choice relies on. */
export function nodeName(choice: NodeChoice): string {
  if (choice.kind === "service") return "the service's node";
  return choice.kind === "wallet" ? "the node of your wallet" : `the node ${hostOf(choice.url)}, which you chose`;
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? url;

export function NodeChooser({ choice, choose, hasWallet }: NodeChooserParts): ReactNode {
  const [url, setUrl] = useState(linkedNode ?? "");
  const isOpen = url !== "" && url === linkedNode;
  const isLinked = linkedNode !== null && sessionStorage.getItem(CHOSEN) !== linkedNode;
  const open = (): void => {
    sessionStorage.setItem(CHOSEN, url);
    const query = new URLSearchParams(location.search);
    query.set("node", url);
    location.assign(`/verify?${query}`);
  };
  const kinds = [
    { value: "service", title: "The service's node", about: "Relies on the service for what is on chain." },
    ...(hasWallet ? [WALLET] : []),
    { value: "own", title: "My own node", about: "An RPC address of the primary chain." },
  ] as const;
  return (
    <>
      <Choices
        label="Node that reads the chain"
        value={choice.kind}
        set={(kind) => choose(kind === "own" ? { kind, url: linkedNode ?? "" } : { kind })}
        options={kinds}
      />
      {choice.kind === "own" ? (
        <>
          <TextField
            label="Address of the node"
            type="url"
            placeholder="https://node.example"
            text={url}
            set={(text) => setUrl(text.trim())}
          />
          {isOpen && isLinked ? (
            <Note kind="warn">
              <strong>The link that opened this page named {hostOf(url)}.</strong> Whoever runs this node can make a
              wrong bill pass. Use it only if you trust it.
            </Note>
          ) : null}
          {isOpen ? null : (
            <Note>
              <p>The page loads again, and its policy then allows this node.</p>
              <p>
                <Button
                  text="Use this node"
                  className="little"
                  disabled={!/^https?:\/\//.test(url) || !URL.canParse(url)}
                  act={open}
                />
              </p>
            </Note>
          )}
        </>
      ) : null}
    </>
  );
}
const WALLET = {
  value: "wallet",
  title: "My wallet",
  about: "The node of the primary chain that your wallet uses.",
} as const;

type NodeChooserParts = { choice: NodeChoice; choose: (choice: NodeChoice) => void; hasWallet: boolean };
