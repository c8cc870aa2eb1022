import type { BudgetName } from "@inference/ledger/commands";
import type { BudgetView } from "@inference/ledger/reads";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";

/** A budget as the API shows it. */
export function toBudgetObject(name: BudgetName, view: BudgetView): Record<string, unknown> {
  return {
    name,
    window: view.window,
    ...amounts({
      limit: view.limitNanoUsd,
      usage: view.settledNanoUsd,
      reserved: view.heldNanoUsd,
      remaining: view.availableNanoUsd,
    }),
    resets_at: isoOrNull(view.resetsAt),
  };
}
