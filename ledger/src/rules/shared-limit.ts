import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import type { Allow, AllowReply, Refusal } from "../messages/commands.ts";
import { ceilingPartition } from "../messages/partition.ts";
import type { AllowanceRow } from "../rows/tables.ts";
import { allowanceId, noAllowance, oldAllowances } from "./allowance.ts";
import { counterId, counterOf, forgetWindows } from "./budget.ts";
import { ceilingRefusal, ceilingShare, mayStay } from "./ceiling.ts";
import { offerRefusal, SALES, salesBudget } from "./offer.ts";
import type { Place, Rule } from "./place.ts";
import type { Raise } from "./raise.ts";

/**
 * A limit that accounts share: the day's ceiling, or an agent's sales of a day. It has a row for each account, with
 * the amount that the account used and the total that it may use. The counter of the day has the sum of both.
 */
export const allow: Rule<"allow"> = (place, command) => {
  const { draft, rows, partition, clockMs } = place;
  const { account, day, askedAt } = command;
  const id = allowanceId(day, account);
  // No row of a day before yesterday is written any more. It is deleted a day later, so a clock may be set back a
  // little.
  const yesterday = windowStart("day", clockMs) - DAY_MS;
  if (day < yesterday) return replyOf({ id, ...noAllowance, ...factsOf(command) }, null, false);
  const known = draft.get("allowance", id);
  const row = known ?? { id, ...noAllowance };
  if (askedAt < row.askedAt) return replyOf(row, null, false);
  const budget = partition === ceilingPartition ? ceilingPartition : salesBudget(day);
  const counter = counterOf(draft, counterId(budget, "day", day));
  const usedNanoUsd = Math.max(row.usedNanoUsd, command.usedNanoUsd);
  // The account has admitted it, so it is a fact too.
  const leastNanoUsd = Math.max(usedNanoUsd, command.leastNanoUsd);
  const raise: Raise = {
    day,
    settledNanoUsd: counter.settledNanoUsd + usedNanoUsd - row.usedNanoUsd,
    othersNanoUsd: counter.heldNanoUsd - (row.allowedNanoUsd - row.usedNanoUsd),
    ownNanoUsd: leastNanoUsd - usedNanoUsd,
    amountNanoUsd: Math.max(0, command.neededNanoUsd - leastNanoUsd),
    isInPieces: command.wantedNanoUsd > command.neededNanoUsd,
    offer: command.offer,
  };
  const isAllowed = askedAt === row.askedAt && command.neededNanoUsd <= row.allowedNanoUsd;
  const refusal = raise.amountNanoUsd === 0 || isAllowed ? undefined : refusalOf(place, raise);
  // The ask of another request, sent again: it changes nothing, but a request that does not fit need not ask again.
  const stays = ({ allowedNanoUsd, usedNanoUsd }: AllowanceRow) =>
    raise.isInPieces && mayStay(place, raise, allowedNanoUsd - usedNanoUsd);
  if (askedAt === row.askedAt) return replyOf(row, refusal ?? null, stays(row));
  const allowedNanoUsd = refusal === undefined ? grantOf(place, raise, leastNanoUsd, command) : leastNanoUsd;
  const next = { ...row, usedNanoUsd, allowedNanoUsd, askedAt };

  draft.put("allowance", next);
  if (known === undefined) {
    const first = Math.min(day, yesterday) - DAY_MS;
    for (const { id: old } of oldAllowances(rows, first)) draft.remove("allowance", old);
    forgetWindows(draft, rows, budget, { window: "day", at: first + DAY_MS });
  }
  const { settledNanoUsd, othersNanoUsd } = raise;
  draft.put("counter", { ...counter, settledNanoUsd, heldNanoUsd: othersNanoUsd + allowedNanoUsd - usedNanoUsd });
  return replyOf(next, refusal ?? null, stays(next));
};

function factsOf({ usedNanoUsd, leastNanoUsd, askedAt }: Allow): Partial<AllowanceRow> {
  return { usedNanoUsd, allowedNanoUsd: leastNanoUsd, askedAt };
}

function refusalOf(place: Place, raise: Raise): Refusal | undefined {
  return place.partition === ceilingPartition ? ceilingRefusal(place, raise) : offerRefusal(place, raise);
}

/**
 * The wanted amount within the account's share, and at least its request's need. Of the wanted amount a part as large
 * as the request is given only if it may stay: an account that rests between its requests need not ask for each.
 */
function grantOf(place: Place, raise: Raise, leastNanoUsd: NanoUsd, { wantedNanoUsd }: Allow): NanoUsd {
  const { amountNanoUsd, ownNanoUsd } = raise;
  const neededNanoUsd = leastNanoUsd + amountNanoUsd;
  if (amountNanoUsd === 0 || !raise.isInPieces) return neededNanoUsd;
  const usedNanoUsd = leastNanoUsd - ownNanoUsd;
  const within = (amount: NanoUsd) =>
    Math.max(neededNanoUsd, Math.min(amount, usedNanoUsd + ceilingShare(place, raise)));
  const staying = within(wantedNanoUsd);
  return mayStay(place, raise, staying - usedNanoUsd) ? staying : within(wantedNanoUsd - amountNanoUsd);
}

function replyOf(row: AllowanceRow, refusal: Refusal | null, stays: boolean): AllowReply {
  const { usedNanoUsd, allowedNanoUsd, askedAt } = row;
  const status = refusal === null ? "allowed" : "refused";
  return { status, usedNanoUsd, allowedNanoUsd, askedAt, stays: stays && refusal === null, refusal };
}

export const empty: Rule<"empty"> = ({ draft, rows }, { at, limit }) => {
  const allowances = rows.list("allowance", { limit });
  for (const { id } of allowances) draft.remove("allowance", id);
  for (const { id } of rows.list("counter", { limit })) {
    if (id.startsWith(`${ceilingPartition}@`) || id.startsWith(SALES)) draft.remove("counter", id);
  }
  draft.put("emptied", { id: "emptied", at });
  return { status: allowances.length < limit ? "emptied" : "more" };
};

export const fill: Rule<"fill"> = ({ draft }) => {
  if (draft.get("emptied", "emptied") !== undefined) draft.remove("emptied", "emptied");
  return { status: "filled" };
};
