import { Check } from "lucide-react";
import type { ReactNode } from "react";

export type StepMark = "done" | "now" | "failed" | "later";
const SAID: Readonly<Record<StepMark, string>> = { done: "done", now: "now", failed: "stopped", later: "later" };

type Step = { name: string; mark: StepMark; title?: ReactNode; about?: ReactNode };

/** Steps one after the other, each with its mark. `title` stands in place of the name, `about` below it. */
export function Steps({ steps }: { steps: readonly Step[] }): ReactNode {
  return (
    <ol className="steps" aria-label="Steps">
      {steps.map(({ name, mark, title = name, about }, index) => (
        <li key={name} className={mark} aria-current={mark === "now" ? "step" : undefined}>
          <span className="mark" aria-hidden="true">
            {mark === "done" ? <Check /> : mark === "failed" ? "!" : index + 1}
          </span>
          <div className="stack tight">
            <h3>
              {title}
              <span className="hidden">: {SAID[mark]}</span>
            </h3>
            {about}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** What screen readers hear of the steps that go on or stopped. */
export function saidOf(steps: readonly Step[]): string {
  const shown = steps.filter(({ mark }) => mark === "now" || mark === "failed");
  return shown.map(({ name, mark }) => `${name}: ${SAID[mark]}`).join(". ");
}
