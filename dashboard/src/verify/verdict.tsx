import { Check, CircleDashed, X } from "lucide-react";
import type { ReactNode } from "react";

type VerdictKind = "good" | "bad" | "unknown";

const ICONS = { good: Check, bad: X, unknown: CircleDashed } as const;

/** One verdict in large type, with the sentence that limits it. */
export function VerdictHead({ kind, title, side, isLarge = false, children }: VerdictParts): ReactNode {
  const Icon = ICONS[kind];
  return (
    <div className={`verdict ${kind} ${isLarge ? "large" : ""}`}>
      <span className="verdict-mark">
        <Icon />
      </span>
      <div className="stack tight">
        <h2 tabIndex={-1}>{title}</h2>
        <p className="quiet">{children}</p>
      </div>
      {side === undefined ? null : <div className="verdict-side">{side}</div>}
    </div>
  );
}
type VerdictParts = { kind: VerdictKind; title: string; side?: ReactNode; isLarge?: boolean; children: ReactNode };
