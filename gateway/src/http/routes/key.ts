import type { BudgetName } from "@inference/ledger/commands";
import { ceilingPartition } from "@inference/ledger/partition";
import type { BudgetView } from "@inference/ledger/reads";
import { readApiKey } from "../../identity/api-keys.ts";
import type { GatewayContext } from "../context.ts";
import { requireApiKey } from "../identify.ts";
import { toKeyObject } from "../key-object.ts";
import { usd, usdOrNull } from "../money.ts";

/** GET /api/v1/key: what the key that is sent may spend, has spent, and which budget stops it first. */
export async function getKey(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { ledger } = gateway.environment;
  const { partition, keyId } = await requireApiKey(context);
  const [view, usage, balance, ceiling] = await Promise.all([
    readApiKey(gateway, partition, keyId, at),
    ledger.read(partition, { type: "keyUsage", at, keyId }),
    ledger.read(partition, { type: "balance", at }),
    ledger.read(ceilingPartition, { type: "ceiling", at }),
  ]);
  // In the order in which they refuse.
  const budgets: NamedBudget[] = [
    { name: "balance", view: balance },
    { name: "key", view: view.budget },
    { name: "ceiling", view: ceiling },
  ];
  return context.json({
    data: {
      ...toKeyObject(view),
      usage_daily: usd(usage.dayNanoUsd),
      usage_daily_nano_usd: usage.dayNanoUsd,
      usage_monthly: usd(usage.monthNanoUsd),
      usage_monthly_nano_usd: usage.monthNanoUsd,
      budgets: budgets.map(toBudgetObject),
      binds_first: bindsFirst(budgets),
      is_free_tier: false,
      is_management_key: false,
    },
  });
}

type NamedBudget = { name: BudgetName; view: BudgetView };

/** The budget with the least left; of two with as little, the one that refuses first. */
function bindsFirst(budgets: readonly NamedBudget[]): BudgetName | null {
  let first: { name: BudgetName; left: number } | null = null;
  for (const { name, view } of budgets) {
    const left = view.availableNanoUsd;
    if (left !== null && (first === null || left < first.left)) first = { name, left };
  }
  return first?.name ?? null;
}

function toBudgetObject({ name, view }: NamedBudget): Record<string, unknown> {
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
