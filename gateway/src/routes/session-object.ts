import type { BudgetView } from "@inference/ledger/reads";
import type { SessionRow } from "@inference/ledger/tables";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";
import { toBudgetObject } from "./budget-object.ts";

/** A session with the field names of a key. Its limit is its identity's capacity of the day. */
export function toSessionObject({ address, agentToken, createdAt, expiresAt }: SessionRow, capacity: BudgetView) {
  const { limitNanoUsd, availableNanoUsd, settledNanoUsd, heldNanoUsd, resetsAt } = capacity;
  return {
    address,
    agent_token: agentToken,
    label: agentToken ?? address,
    ...amounts({ limit: limitNanoUsd, limit_remaining: availableNanoUsd }),
    limit_reset: "daily",
    resets_at: isoOrNull(resetsAt),
    ...amounts({ usage: settledNanoUsd, reserved: heldNanoUsd }),
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    budgets: [toBudgetObject("capacity", capacity)],
    binds_first: "capacity",
    is_free_tier: false,
    is_management_key: false,
  };
}
