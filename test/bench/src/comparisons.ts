import { bareWorker, edgeTargets } from "./cloudflare/edge-targets.ts";
import { translationTargets } from "./gateway-target.ts";
import { edgeGoals, type HttpGoal, nodeGoals } from "./goals.ts";
import { edgeScenarios, nodeScenarios, type Scenario, translationScenarios } from "./http-bench.ts";
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
  /** Whether our ledger alone is measured in slices as well. */
  readonly slices: boolean;
  /** Whether what a million requests cost is counted as well. */
  readonly cost: boolean;
  /** The names of the targets that ratios are shown against. */
  readonly against: readonly string[];
  readonly goals: readonly HttpGoal[];
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
    scenarios: nodeScenarios,
    ledgerTargets,
    ledgerScenarios,
    slices: true,
    cost: false,
    against: ["bare proxy", "Portkey"],
    goals: nodeGoals,
    usual: { rounds: 9, seconds: 1, costAccounts: 0 },
    quick: { rounds: 2, seconds: 0.5, costAccounts: 0 },
    file: "latest.json",
  },
  // What the translation of other APIs costs: the same stream, asked for by each.
  translation: {
    bare: chatTarget,
    targets: translationTargets,
    scenarios: translationScenarios,
    ledgerTargets: [],
    ledgerScenarios: [],
    slices: false,
    cost: false,
    against: [chatTarget.name],
    goals: [],
    usual: { rounds: 7, seconds: 5, costAccounts: 0 },
    quick: { rounds: 2, seconds: 2, costAccounts: 0 },
    file: "translation.json",
  },
  cloudflare: {
    bare: bareWorker,
    targets: edgeTargets,
    scenarios: edgeScenarios,
    ledgerTargets: [],
    ledgerScenarios: [],
    slices: false,
    cost: true,
    against: ["bare Worker", "Portkey Worker"],
    goals: edgeGoals,
    usual: { rounds: 3, seconds: 3, costAccounts: 1_000 },
    quick: { rounds: 1, seconds: 2, costAccounts: 100 },
    file: "cloudflare.json",
  },
};
