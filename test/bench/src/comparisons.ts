import { bareWorker, edgeTargets } from "./cloudflare/edge-targets.ts";
import { translationTargets } from "./gateway-target.ts";
import { edgeGoals, nodeGoals, type RateGoal } from "./goals.ts";
import { type Scenario, scenarios } from "./http-bench.ts";
import { type LedgerScenario, ledgerScenarios } from "./ledger-bench.ts";
import type { LedgerTarget } from "./ledger-target.ts";
import { ledgerTargets } from "./ledger-targets.ts";
import type { Target } from "./target.ts";
import { bare, targets } from "./targets.ts";

/** What is compared on one of the hosts. */
export interface Comparison {
  /** What everything is divided by. */
  readonly bare: Target;
  readonly targets: readonly Target[];
  readonly scenarios: readonly Scenario[];
  readonly ledgerTargets: readonly LedgerTarget[];
  readonly ledgerScenarios: readonly LedgerScenario[];
  /** Whether what a million requests cost is counted as well. */
  readonly cost: boolean;
  /** The names of the targets that ratios are shown against. */
  readonly against: readonly string[];
  readonly rateGoals: readonly RateGoal[];
  readonly usual: Pace;
  /** To see that it works. */
  readonly quick: Pace;
  /** In `results/`. */
  readonly file: string;
}

interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly costAccounts: number;
}

const [chatTarget = bare] = translationTargets;

export const comparisons: { readonly [host: string]: Comparison } = {
  node: {
    bare,
    targets,
    scenarios,
    ledgerTargets,
    ledgerScenarios,
    cost: false,
    against: ["bare proxy", "Portkey"],
    rateGoals: nodeGoals,
    usual: { rounds: 5, seconds: 5, costAccounts: 0 },
    quick: { rounds: 3, seconds: 2, costAccounts: 0 },
    file: "latest.json",
  },
  // What the translation of other APIs costs: the same stream, asked for by each.
  translation: {
    bare: chatTarget,
    targets: translationTargets,
    scenarios: scenarios.filter(({ answer }) => answer !== "buffered"),
    ledgerTargets: [],
    ledgerScenarios: [],
    cost: false,
    against: [chatTarget.name],
    rateGoals: [],
    usual: { rounds: 7, seconds: 5, costAccounts: 0 },
    quick: { rounds: 2, seconds: 2, costAccounts: 0 },
    file: "translation.json",
  },
  cloudflare: {
    bare: bareWorker,
    targets: edgeTargets,
    // One isolate serves all that is here: more connections only wait longer.
    scenarios: scenarios.filter(({ connections, answer }) => connections <= 200 && answer !== "paced"),
    ledgerTargets: [],
    ledgerScenarios: [],
    cost: true,
    against: ["bare Worker", "Portkey Worker"],
    rateGoals: edgeGoals,
    usual: { rounds: 3, seconds: 3, costAccounts: 1_000 },
    quick: { rounds: 1, seconds: 2, costAccounts: 100 },
    file: "cloudflare.json",
  },
};
