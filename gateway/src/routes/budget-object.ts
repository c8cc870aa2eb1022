import type { BudgetName } from "@inference/ledger/commands";
import type { BudgetView } from "@inference/ledger/reads";
import { usd, usdOrNull } from "../http/money.ts";

/** A budget that binds a request, as it is shown. */
export function toBudgetObject(name: BudgetName, view: BudgetView): Record<string, unknown> {
  return {
    name,
    window: view.window,
    limit: usdOrNull(view.limitNanoUsd),
    limit_nano_usd: view.limitNanoUsd,
    usage: usd(view.settledNanoUsd),
    usage_nano_usd: view.settledNanoUsd,
    reserved: usd(view.heldNanoUsd),
    reserved_nano_usd: view.heldNanoUsd,
    remaining: usdOrNull(view.availableNanoUsd),
    remaining_nano_usd: view.availableNanoUsd,
    resets_at: view.resetsAt === null ? null : new Date(view.resetsAt).toISOString(),
  };
}
