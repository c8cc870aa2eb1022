import type { Commands } from "../messages/commands.ts";
import { isHold } from "../rows/tables.ts";
import { noBill } from "./bill.ts";
import { forgetKey, isKeyOver, keepPaidKey } from "./key.ts";
import { MAX_CLOCK_SKEW_MS, OUTCOME_RETENTION_MS } from "./limits.ts";
import { forgetCapacities } from "./offer.ts";
import type { Place, Rule } from "./place.ts";
import { positionId } from "./position.ts";

/**
 * Deletes rows whose retention has ended:
 *
 * - receipts with their uses, and final records, after their time; never a use before its debit is final
 * - nonces, claims and sessions once nothing could use them
 * - keys 48 hours after they were revoked, expired, or waited for a credit in vain, once they have no open hold
 *
 * Totals stay. A clock that jumped deletes nothing.
 */
export const forget: Rule<"forget"> = (place, command) => {
  const { draft, rows, clockMs } = place;
  if (Math.abs(command.at - clockMs) > MAX_CLOCK_SKEW_MS) return { forgotten: 0 };
  const { table, at } = command;
  let forgotten = 0;
  for (const id of command.ids) {
    if (!isOver(place, command, id)) {
      if (table === "key") keepPaidKey(draft, id);
      continue;
    }
    if (table === "receipt") forgetUse(place, id);
    if (table === "key") forgetKey(draft, rows, id);
    else draft.remove(table, id);
    forgotten += 1;
  }
  if (table === "session" && forgotten > 0) forgetCapacities(place, at);
  return { forgotten };
};

function isOver(place: Place, { table, at, keepMs = 0 }: Commands["forget"]["command"], id: string): boolean {
  const { draft } = place;
  const keptMs = Math.max(keepMs, OUTCOME_RETENTION_MS);
  if (table === "receipt") {
    const receipt = draft.get("receipt", id);
    if (receipt === undefined || isHold(receipt) || receipt.admittedAt + keptMs >= at) return false;
    const { baseNanoUsd } = draft.get("bill", "bill") ?? noBill;
    return (receipt.endsAtNanoUsd ?? 0) <= baseNanoUsd;
  }
  if (table === "record") return (draft.get("record", id)?.paidAt ?? at) + keptMs < at;
  if (table === "key") return isKeyOver(place, id, at);
  const row = draft.get(table, id);
  return row !== undefined && row.expiresAt + OUTCOME_RETENTION_MS < at;
}

function forgetUse({ draft }: Place, receiptId: string): void {
  const endsAtNanoUsd = draft.get("receipt", receiptId)?.endsAtNanoUsd;
  if (endsAtNanoUsd == null) return;
  const id = positionId(endsAtNanoUsd);
  // After a takeover the position may be another use's.
  if (draft.get("use", id)?.receipt === receiptId) draft.remove("use", id);
}
