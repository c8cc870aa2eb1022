import { type ReactNode, useId, useState } from "react";
import { Field, Note } from "../parts.tsx";

/** Who tells what the public record says. */
export type NodeChoice = { kind: "service" } | { kind: "wallet" } | { kind: "own"; url: string };

/** The node that this page was opened with, which its policy lets it reach. */
export const ownNode = new URLSearchParams(location.search).get("node");

export function NodeChooser({ choice, choose, hasWallet }: NodeChooserParts): ReactNode {
  const name = useId();
  const [url, setUrl] = useState(ownNode ?? "");
  const isOpen = url !== "" && url === ownNode;
  const kinds = [
    ["service", "The service's node", "Quick. You believe what the service shows."],
    ...(hasWallet ? [["wallet", "My wallet", "It asks the node that your wallet uses."] as const] : []),
    ["own", "My own node", "Any address of a node (RPC) of the main chain."],
  ] as const;
  return (
    <fieldset className="stack tight">
      <legend>Who says what the public record says?</legend>
      <div className="choices">
        {kinds.map(([kind, label, about]) => (
          <label key={kind} className="choice">
            <input
              type="radio"
              name={name}
              checked={choice.kind === kind}
              onChange={() => choose(kind === "own" ? { kind, url: ownNode ?? "" } : { kind })}
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
          {isOpen ? null : (
            <Note>
              <p>The page is opened again, with leave to ask this node and no other.</p>
              <p>
                <button
                  type="button"
                  className="little"
                  disabled={!/^https?:\/\//.test(url) || !URL.canParse(url)}
                  onClick={() => location.assign(`/?node=${encodeURIComponent(url)}${location.hash}`)}
                >
                  Open it so
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
