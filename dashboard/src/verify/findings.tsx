import type { ReactNode } from "react";
import type { Finding, Outcome } from "./check-receipt.ts";

const MARKS: Readonly<Record<Outcome, [string, string, string]>> = {
  pass: ["done", "✓", "right"],
  fail: ["failed", "✗", "wrong"],
  skipped: ["", "–", "not checked"],
};

/** One line for each check, with its result and the parties that it relies on. */
export function Findings({ findings }: { findings: readonly Finding[] }): ReactNode {
  return (
    <ol className="steps" aria-label="Checks">
      {findings.map(({ title, outcome, detail, trusts }) => {
        const [className, mark, said] = MARKS[outcome];
        return (
          <li key={title} className={className}>
            <span className="mark" aria-hidden="true">
              {mark}
            </span>
            <div className="stack tight">
              <strong>
                {title}: {said}
              </strong>
              <span className="quiet wrap">{detail}</span>
              {trusts.length === 0 ? null : <span className="small quiet">You believe {trusts.join("; ")}.</span>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
