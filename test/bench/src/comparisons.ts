import { bareWorker, edgeTargets } from "./cloudflare/edge-targets.ts";
import { translationTargets } from "./gateway-target.ts";
import { edgeGoals, type HttpGoal, nodeGoals } from "./goals.ts";
import { edgeScenarios, nodeScenarios, type Scenario, translationScenarios } from "./http-bench.ts";
import type { Target } from "./target.ts";
import { bare, targets } from "./targets.ts";

/** The targets and scenarios of one host. */
export interface Comparison {
  /** The divisor of all figures. */
  readonly bare: Target;
  readonly targets: readonly Target[];
  readonly scenarios: readonly Scenario[];
  /** Also counts the cost of a million requests. */
  readonly cost: boolean;
  /** The names of the targets that ratios are shown against. */
  readonly against: readonly string[];
  readonly goals: readonly HttpGoal[];
  readonly usual: Pace;
  /** For a first look. */
  readonly quick: Pace;
  /** The file in `results/` for the rows; null to print them only. */
  readonly file: string | null;
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
    cost: false,
    against: ["bare proxy", "Portkey"],
    goals: nodeGoals,
    usual: { rounds: 9, seconds: 1, costAccounts: 0 },
    quick: { rounds: 2, seconds: 0.5, costAccounts: 0 },
    file: null,
  },
  // The cost of translating other APIs: the same stream, asked for by each.
  translation: {
    bare: chatTarget,
    targets: translationTargets,
    scenarios: translationScenarios,
    cost: false,
    against: [chatTarget.name],
    goals: [],
    usual: { rounds: 7, seconds: 5, costAccounts: 0 },
    quick: { rounds: 2, seconds: 2, costAccounts: 0 },
    file: null,
  },
  cloudflare: {
    bare: bareWorker,
    targets: edgeTargets,
    scenarios: edgeScenarios,
    cost: true,
    against: ["bare Worker", "Portkey Worker"],
    goals: edgeGoals,
    usual: { rounds: 3, seconds: 3, costAccounts: 160 },
    quick: { rounds: 1, seconds: 2, costAccounts: 40 },
    file: "cloudflare.json",
  },
};
