import type { Commands, ReplyOf } from "./commands.ts";
import { deliveryId } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved, words } from "./hold.ts";
import { forgetKey, isInUse } from "./key.ts";
import { MAX_CLOCK_SKEW_MS, OUTCOME_RETENTION_MS } from "./limits.ts";

type Forget = Commands["forget"]["command"];

/**
 * Removes rows whose time is over: resolved holds after 48 h, once every follower knows, nonces and sessions once
 * nothing could use them, keys as long after they were revoked, once no request holds anything under them, receipts
 * once their time is over; the totals that they were counted in stay. A clock that jumped forgets nothing.
 */
export function forget(draft: Draft, command: Forget, clockMs: number): ReplyOf<Forget> {
  if (Math.abs(command.at - clockMs) > MAX_CLOCK_SKEW_MS) return { forgotten: 0 };
  let forgotten = 0;
  for (const id of command.ids) {
    if (!isOver(draft, command, id)) continue;
    if (command.table === "key") forgetKey(draft, id);
    else draft.remove(command.table, id);
    forgotten += 1;
  }
  return { forgotten };
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
  if (table === "key") {
    const revokedAt = draft.get("key", id)?.revokedAt ?? at;
    return revokedAt + OUTCOME_RETENTION_MS < at && !isInUse(draft, id);
  }
  const row = draft.get(table, id);
  return row !== undefined && row.expiresAt + OUTCOME_RETENTION_MS < at;
}
