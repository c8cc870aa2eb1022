import type { KeyView } from "@inference/ledger/reads";
import type { Window } from "@inference/protocol/window";
import { type ExactNumber, usd, usdOrNull } from "../http/money.ts";

/** An API key as it is shown, under OpenRouter's names where it has them; each amount also in nano-dollars. */
export type KeyObject = {
  id: string;
  name: string;
  label: string;
  disabled: boolean;
  limit: ExactNumber | null;
  limit_nano_usd: number | null;
  /** What a request could reserve now: the limit less what is used and what requests in flight hold. */
  limit_remaining: ExactNumber | null;
  limit_remaining_nano_usd: number | null;
  limit_reset: "daily" | "monthly" | null;
  /** When the limit's window ends; null for a lifetime. */
  resets_at: string | null;
  /** Since the limit's window began: of all time for a lifetime, or without a limit. */
  usage: ExactNumber;
  usage_nano_usd: number;
  /** What requests in flight hold. */
  reserved: ExactNumber;
  reserved_nano_usd: number;
  created_at: string;
  expires_at: string | null;
};

export function toKeyObject({ key, budget }: KeyView): KeyObject {
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    disabled: key.disabled !== 0,
    limit: usdOrNull(budget.limitNanoUsd),
    limit_nano_usd: budget.limitNanoUsd,
    limit_remaining: usdOrNull(budget.availableNanoUsd),
    limit_remaining_nano_usd: budget.availableNanoUsd,
    limit_reset: resets[key.window],
    resets_at: isoOrNull(budget.resetsAt),
    usage: usd(budget.settledNanoUsd),
    usage_nano_usd: budget.settledNanoUsd,
    reserved: usd(budget.heldNanoUsd),
    reserved_nano_usd: budget.heldNanoUsd,
    created_at: new Date(key.createdAt).toISOString(),
    expires_at: isoOrNull(key.expiresAt),
  };
}

const resets: Record<Window, KeyObject["limit_reset"]> = { day: "daily", month: "monthly", lifetime: null };

function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
