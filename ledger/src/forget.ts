import { counterId } from "./budget.ts";
import type { Commands, ReplyOf } from "./commands.ts";
import { deliveryId } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { forgetCapacities, forgetCounter, isCapacityInUse } from "./forget-counters.ts";
import { isUnresolved, words } from "./hold-row.ts";
import { forgetKey, isKeyOver, keepPaidKey } from "./key.ts";
import { MAX_CLOCK_SKEW_MS, OUTCOME_RETENTION_MS } from "./limits.ts";

type Forget = Commands["forget"]["command"];

/**
 * Deletes rows whose retention has ended:
 *
 * - resolved holds after 48 hours, once every follower has acknowledged
 * - nonces and sessions once nothing could use them
 * - keys 48 hours after they were revoked, expired, or waited for a credit in vain, once they have no open hold
 * - receipts after their time; their totals stay
 *
 * Counters of ended windows are deleted with their holds, a capacity with its session. A clock that jumped deletes
 * nothing.
 */
export function forget(draft: Draft, command: Forget, clockMs: number): ReplyOf<Forget> {
  if (Math.abs(command.at - clockMs) > MAX_CLOCK_SKEW_MS) return { forgotten: 0 };
  const { table, at } = command;
  let forgotten = 0;
  // Many holds have the same counters.
  const counters = new Set<string>();
  for (const id of command.ids) {
    if (!isOver(draft, command, id)) {
      if (table === "key") keepPaidKey(draft, id);
      continue;
    }
    if (table === "hold") for (const counter of countersOf(draft, id)) counters.add(counter);
    if (table === "session") forgetCapacities(draft, id);
    if (table === "key") forgetKey(draft, id, at);
    else draft.remove(table, id);
    forgotten += 1;
  }
  for (const id of counters) forgetCounter(draft, id, at);
  return { forgotten };
}

/** The counters of a hold: at its reserve, and since its key got another window. */
function countersOf(draft: Draft, holdId: string): string[] {
  const hold = draft.get("hold", holdId);
  if (hold === undefined) return [];
  const budget = hold.counters === "" ? undefined : draft.get("budget", `key:${hold.keyId}`);
  const now = budget === undefined ? [] : [counterId(budget.id, budget, hold.admittedAt)];
  return [...words(hold.counters), ...now];
}

function isOver(draft: Draft, { table, at, keepMs = 0 }: Forget, id: string): boolean {
  if (table === "receipt") {
    const receipt = draft.get("receipt", id);
    return receipt !== undefined && receipt.admittedAt + Math.max(keepMs, OUTCOME_RETENTION_MS) < at;
  }
  if (table === "hold") {
    const hold = draft.get("hold", id);
    if (hold === undefined || isUnresolved(hold) || hold.admittedAt + OUTCOME_RETENTION_MS >= at) return false;
    return words(hold.followers).every((follower) => draft.get("outbox", deliveryId(id, follower)) === undefined);
  }
  if (table === "key") return isKeyOver(draft, id, at);
  const row = draft.get(table, id);
  if (row === undefined || row.expiresAt + OUTCOME_RETENTION_MS >= at) return false;
  return table !== "session" || !isCapacityInUse(draft, id);
}
