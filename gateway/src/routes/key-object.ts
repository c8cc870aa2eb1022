import type { KeyView } from "@inference/ledger/reads";
import { keyLimitName } from "@inference/protocol/key-limit";
import { limitResetOf } from "@inference/protocol/window";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";

/**
 * An API key as the API shows it, under OpenRouter's names if it has them. `limit_remaining` is what a request could
 * reserve now: the limit less `usage`, which counts from the start of the limit's window, and less `reserved`, which
 * requests in flight hold. The `usage` of a key without a limit is of all time. `limits` has all limits of the key.
 */
export function toKeyObject({ key, budget, limits, terms }: KeyView) {
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    disabled: key.disabled !== 0,
    ...amounts({ limit: budget.limitNanoUsd, limit_remaining: budget.availableNanoUsd }),
    limit_reset: limitResetOf(key.window),
    resets_at: isoOrNull(budget.resetsAt),
    ...amounts({ usage: budget.settledNanoUsd, reserved: budget.heldNanoUsd }),
    created_at: new Date(key.createdAt).toISOString(),
    expires_at: isoOrNull(key.expiresAt),
    limits: limits.map(({ limit, used, held, available, resetsAt }) => ({
      name: keyLimitName(limit),
      unit: limit.unit,
      ...{ limit: limit.most, used, reserved: held, remaining: available },
      resets_at: isoOrNull(resetsAt),
    })),
    models: terms.models,
    private: terms.isPrivate,
  };
}
