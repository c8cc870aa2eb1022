import { Check, ChevronRight, Minus, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding } from "./check-receipt.ts";

const MARKS = {
  pass: [Check, "passed"],
  fail: [X, "failed"],
  skipped: [Minus, "not checked"],
} as const satisfies Readonly<Record<Finding["outcome"], unknown>>;

/** The checks as a list that opens: result, finding, and the parties that it relies on. A failed one is open. */
export function Findings({ findings }: { findings: readonly Finding[] }): ReactNode {
  return (
    <ol className="check-list" aria-label="Checks">
      {findings.map(({ title, outcome, detail, trusts }) => {
        const [Icon, said] = MARKS[outcome];
        return (
          <li key={title} className={outcome}>
            <details open={outcome === "fail"}>
              <summary>
                <span className="mark">
                  <Icon />
                </span>
                <span>
                  {title}
                  <span className="hidden">: {said}</span>
                </span>
                <span className="found">{outcome === "skipped" ? "Not checked" : detail}</span>
                <ChevronRight className="chevron" />
              </summary>
              <div className="opened">
                <p>{sentence(detail)}</p>
                {trusts.length === 0 ? (
                  <p className="hint">Computed in this browser.</p>
                ) : (
                  <p className="hint">Relies on {trusts.join("; ")}.</p>
                )}
              </div>
            </details>
          </li>
        );
      })}
    </ol>
  );
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

/** The checks that passed, of those that were made: one that was not made is never counted as passed. */
export function countOf(findings: readonly Pick<Finding, "outcome">[]): Count {
  const of = (wanted: Finding["outcome"]): number => findings.filter(({ outcome }) => outcome === wanted).length;
  const [passed, failed, skipped] = [of("pass"), of("fail"), of("skipped")];
  const title = `${passed} of ${passed + failed} checks passed${skipped > 0 ? `, ${skipped} not checked` : ""}`;
  return { title, kind: failed > 0 ? "bad" : passed === 0 ? "unknown" : "good" };
}
type Count = { title: string; kind: "good" | "bad" | "unknown" };
