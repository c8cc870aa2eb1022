import type { Evidence } from "@inference/sdk/verify/evidence";
import type { Verdict } from "@inference/sdk/verify/judge";
import type { ReactNode } from "react";
import { Amount, Card, Fact } from "../parts.tsx";
import { countOf, Findings } from "./findings.tsx";
import { type Sums, sentenceOf, sumsOf, TITLES } from "./sums.ts";
import { VerdictHead } from "./verdict.tsx";

/**
 * The verdict in large type, the account's equation, and the checks beside what they do not prove.
 *
 * @param node The node of the main chain; absent: the evidence has the chain's part.
 * @param side More cards beside the checks.
 */
export function AccountVerdict({ checks, notProven, evidence, node, side }: VerdictParts): ReactNode {
  const { title, kind } = countOf(checks);
  const sums = sumsOf(evidence);
  return (
    <>
      <section className="card flush" aria-label="Verdict">
        <VerdictHead kind={kind} title={title} isLarge>
          {sentenceOf({ checks }, evidence)}
          {node === undefined ? null : ` The chain was read through ${node}.`}
        </VerdictHead>
        {sums === null ? null : <Equation {...sums} />}
      </section>
      <div className="two">
        <section className="card flush" aria-label="Checks of the account">
          <Findings
            findings={checks.map(({ id, outcome, detail, trusts }) => ({
              ...{ title: TITLES[id], outcome, detail },
              trusts: trusts.map((each) =>
                each.replace("a node that the client chose", node ?? "a node that it names"),
              ),
            }))}
          />
        </section>
        <div className="stack side-cards">
          <NotProven all={notProven} />
          {side}
        </div>
      </div>
    </>
  );
}
type VerdictParts = Pick<Verdict, "checks" | "notProven"> & { evidence: Evidence; node?: string; side?: ReactNode };

function Equation({ added, proved, waiting, reserved, balance }: Sums): ReactNode {
  const parts = [
    ["", "Added", added],
    ["−", "Proved charges", proved],
    ["−", "Waiting for a final block", waiting],
    ...(reserved === 0 ? [] : [["−", "Reserved by running requests", reserved] as const]),
    ["=", "Balance", balance],
  ] as const;
  return (
    <dl className="equation">
      {parts.map(([sign, label, nanoUsd]) => (
        <div key={label} className={sign === "=" ? "last" : undefined}>
          <Fact
            name={
              <>
                {sign === "" ? null : <span className="hidden">{sign === "=" ? "is" : "less"} </span>}
                {label}
              </>
            }
            term="label"
          >
            {sign === "" ? null : (
              <span className="sign" aria-hidden="true">
                {sign}{" "}
              </span>
            )}
            <Amount nanoUsd={nanoUsd} />
          </Fact>
        </div>
      ))}
    </dl>
  );
}

/** Four short lines, and every limit of the checks behind a fold. */
export function NotProven({ all }: { all: readonly string[] }): ReactNode {
  return (
    <Card title="What this does not prove">
      <ul className="dashes">
        <li>That the provider counted tokens correctly or ran the model that it names.</li>
        <li>When a price took effect. Only the gateway confirms that.</li>
        <li>That you made a request whose signed receipt you did not keep.</li>
        <li>That no further chain exists. The checks read the chains that the gateway lists.</li>
      </ul>
      <details>
        <summary className="hint">All limits of these checks</summary>
        <ul className="dashes">
          {all.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      </details>
    </Card>
  );
}
