import { type ReactNode, useId, useState } from "react";
import { Field, Note } from "../parts.tsx";

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
  const name = useId();
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
    ["service", "The service's node", "Relies on the service for what is on chain."],
    ...(hasWallet ? [["wallet", "My wallet", "The node of the primary chain that your wallet uses."] as const] : []),
    ["own", "My own node", "An RPC address of the primary chain."],
  ] as const;
  return (
    <fieldset className="stack tight">
      <legend>Node that reads the chain</legend>
      <div className="choices">
        {kinds.map(([kind, label, about]) => (
          <label key={kind} className="choice">
            <input
              type="radio"
              name={name}
              checked={choice.kind === kind}
              onChange={() => choose(kind === "own" ? { kind, url: linkedNode ?? "" } : { kind })}
            />
            <span>
              <strong>{label}</strong>
              <span className="small quiet">{about}</span>
            </span>
          </label>
        ))}
      </div>
      {choice.kind === "own" ? (
        <>
          <Field label="Address of the node">
            {(props) => (
              <input
                {...props}
                type="url"
                placeholder="https://node.example"
                value={url}
                onChange={({ target }) => setUrl(target.value.trim())}
              />
            )}
          </Field>
          {isOpen && isLinked ? (
            <Note kind="warn">
              <p>
                <strong>The link that opened this page named {hostOf(url)}.</strong> Whoever runs this node can make a
                wrong bill pass. Use it only if you trust it.
              </p>
            </Note>
          ) : null}
          {isOpen ? null : (
            <Note>
              <p>The page loads again, and its policy then allows this node.</p>
              <p>
                <button
                  type="button"
                  className="little"
                  disabled={!/^https?:\/\//.test(url) || !URL.canParse(url)}
                  onClick={open}
                >
                  Use this node
                </button>
              </p>
            </Note>
          )}
        </>
      ) : null}
    </fieldset>
  );
}
type NodeChooserParts = { choice: NodeChoice; choose: (choice: NodeChoice) => void; hasWallet: boolean };
