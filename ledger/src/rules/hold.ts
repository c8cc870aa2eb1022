import type { NanoUsd } from "@inference/protocol/money";
import { windowStart } from "@inference/protocol/window";
import type { Commands, Excess, Left, Refusal, ReserveReply, ResolveReply } from "../messages/commands.ts";
import { agentPartition, ceilingPartition, isAccount } from "../messages/partition.ts";
import { isHold, type ReceiptRow } from "../rows/tables.ts";
import { adoptAnswer, askOf, closeAnswered, countUnder, holdsNow, limitsToAsk } from "./allowance.ts";
import { authenticate } from "./authenticate.ts";
import { layUse, unheard } from "./bill.ts";
import { balanceOf, type CountedBudget, leftOf, refusalOf } from "./budget.ts";
import { earlierClaim, makeClaim } from "./claim.ts";
import { keepUsedKey } from "./key.ts";
import { allowsUse, budgetOfLimit, type CountedLimit, countLimits, excessOf, termsOf } from "./key-limits.ts";
import { MAX_CLOCK_SKEW_MS, MAX_IN_FLIGHT } from "./limits.ts";
import { noticeFull, noticeSettle } from "./notice.ts";
import { ownCapacity } from "./offer.ts";
import type { Place, Rule } from "./place.ts";
import { resolve } from "./resolve.ts";

/**
 * Holds, in their payer's partition. `reserve` creates a hold, `checkpoint` updates it, and it ends once: settled with
 * at most its amount, or released. Its row is then the receipt, which also records the outcomes of its commands.
 */
type Reserve = Commands["reserve"]["command"];

export const reserve: Rule<"reserve"> = (place, command) => {
  const { draft } = place;
  const { id, at, amountNanoUsd, server, claim, answers = [] } = command;
  const leaseUntil = at + command.leaseMs;
  const lost = answers.map((answer) => adoptAnswer(place, answer));
  const fingerprint = fingerprintOf(command);
  const existing = draft.get("receipt", id);
  if (existing !== undefined) return repeatedReserve(place, existing, fingerprint, leaseUntil);
  if (Math.abs(at - place.clockMs) > MAX_CLOCK_SKEW_MS) return { status: "clock_skew" };
  const payer = authenticate(draft, command.payer, at);
  if ("fault" in payer) return { status: "unauthenticated", fault: payer.fault };
  const earlier = claim === undefined ? undefined : earlierClaim(draft, claim, at);
  if (earlier !== undefined) return earlier;
  const deaf = unheard(place, Math.max(0, ...lost));
  if (deaf !== undefined) return deaf;
  const holds = holdsNow(place);
  const key = payer.keyId === null ? undefined : draft.get("key", payer.keyId);
  if (key !== undefined && !allowsUse(termsOf(key), command.models)) {
    return { status: "model_not_allowed", terms: termsOf(key) };
  }
  const limits = key === undefined ? [] : countLimits(draft, holds, key, at);
  const refusal = refusalFor(place, holds, key && limits, command);
  // A refusal is not stored, but for one notice a limit and window: an account without funds could fill the disk.
  if (refusal !== undefined) {
    if (key !== undefined && refusal.budget === "key" && refusal.cause === "settled") {
      noticeFull(place, key, refusal, at);
    }
    return { status: "refused", refusal };
  }
  const excess = firstExcess(limits, command);
  if (excess !== undefined) return { status: "limited", excess };
  const terms = { server: server?.agent ?? null, offer: server?.offer ?? null };
  const wanted = { at, amountNanoUsd, ...terms, inPieces: command.inPieces === true };
  const asked = limitsToAsk(place, holds, wanted);
  const refused = asked.includes(ceilingPartition)
    ? answers.find(({ limit }) => limit === ceilingPartition)
    : undefined;
  if (refused?.refusal != null) return { status: "refused", refusal: refused.refusal };
  if (asked.length > 0) return { status: "asks", asks: asked.map((limit) => askOf(place, holds, limit, wanted)) };

  // After this point the reserve succeeds.
  const { keyId } = payer;
  const hold = { ...openHold(command), ...terms, leaseUntil, keyId, fingerprint, detail: command.detail };
  draft.put("receipt", hold);
  const all = [...holds, hold];
  closeAnswered(place, all, answers);
  if (claim !== undefined) makeClaim(draft, id, claim);
  if (keyId !== null && amountNanoUsd === 0) keepUsedKey(draft, keyId, at);
  return { status: "reserved", keyId, leaseUntil, ...left(place, all) };
};

/** @param holds The payer's, after the command. */
function left({ draft, partition }: Place, holds: readonly ReceiptRow[]): Left {
  if (!isAccount(partition)) return {};
  return { availableNanoUsd: leftOf(balanceOf(draft, holds))?.available ?? 0 };
}

function fingerprintOf({ at, leaseMs, amountNanoUsd, payer, server, claim, tokens, models = [] }: Reserve): string {
  let text = `${at} ${leaseMs} ${amountNanoUsd} ${payer.kind} ${payer.digest}`;
  for (const term of [server?.offer, claim?.id, claim?.fingerprint, tokens, ...models.map(({ id }) => id)])
    if (term !== undefined) text += ` ${term}`;
  return text;
}

/** @param leaseUntil As in the first reply. The row's value changes when the hold is orphaned. */
function repeatedReserve(place: Place, existing: ReceiptRow, fingerprint: string, leaseUntil: number): ReserveReply {
  if (existing.fingerprint !== fingerprint) return { status: "conflict" };
  return { status: "reserved", keyId: existing.keyId, leaseUntil, ...left(place, holdsNow(place)) };
}

function openHold({
  id,
  at,
  amountNanoUsd,
  tokens,
}: Pick<Reserve, "id" | "at" | "amountNanoUsd" | "tokens">): ReceiptRow {
  return {
    id,
    state: "open",
    admittedAt: at,
    leaseUntil: at,
    resolvedAt: null,
    heldNanoUsd: amountNanoUsd,
    chargeNanoUsd: 0,
    lossNanoUsd: 0,
    deliveredNanoUsd: 0,
    upstreamId: null,
    keyId: null,
    server: null,
    offer: null,
    endsAtNanoUsd: null,
    fingerprint: "",
    detail: "",
    heldTokens: tokens ?? null,
  };
}

export const checkpoint: Rule<"checkpoint"> = ({ draft }, { id, deliveredNanoUsd, upstreamId, detail }) => {
  const hold = draft.get("receipt", id);
  if (hold === undefined) return { status: "unknown" };
  if (!isHold(hold)) return { status: "already_resolved" };
  draft.put("receipt", {
    ...hold,
    deliveredNanoUsd: Math.min(hold.heldNanoUsd, Math.max(hold.deliveredNanoUsd, deliveredNanoUsd)),
    upstreamId: upstreamId ?? hold.upstreamId,
    detail: detail ?? hold.detail,
  });
  return { status: "written" };
};

export const settle: Rule<"settle"> = (place, command) => {
  const { draft, partition } = place;
  const { id, chargeNanoUsd, snapshot } = command;
  const deaf = unheard(place);
  if (deaf !== undefined) return deaf;
  const hold = draft.get("receipt", id);
  if (hold === undefined) return { status: "unknown" };
  if (!isHold(hold)) return repeatedResolve(place, hold, "settled", chargeNanoUsd);
  if (chargeNanoUsd > hold.heldNanoUsd) {
    draft.alert(`${id}: a settle of ${chargeNanoUsd} exceeds its hold of ${hold.heldNanoUsd}`);
    return { status: "exceeds_hold" };
  }

  // After this point the settle succeeds.
  const receipt = resolve(place, hold, { ...command, state: "settled" });
  if (isAccount(partition) && chargeNanoUsd > 0) {
    draft.put("receipt", { ...receipt, endsAtNanoUsd: layUse(place, receipt, snapshot) });
    noticeSettle(place, receipt);
  }
  return { status: "settled", ...left(place, holdsNow(place)) };
};

export const release: Rule<"release"> = (place, command) => {
  const { draft } = place;
  const { id, at, detail } = command;
  const deaf = unheard(place);
  if (deaf !== undefined) return deaf;
  const hold = draft.get("receipt", id);
  if (hold === undefined) {
    // The id is taken, so that a reserve that arrives late is refused.
    if (detail === null)
      draft.put("receipt", { ...openHold({ id, at, amountNanoUsd: 0 }), state: "released", resolvedAt: at });
    return { status: "unknown" };
  }
  if (!isHold(hold)) return repeatedResolve(place, hold, "released", 0);
  resolve(place, hold, { ...command, chargeNanoUsd: 0, state: "released" });
  return { status: "released", ...left(place, holdsNow(place)) };
};

export const orphan: Rule<"orphan"> = ({ draft }, { id, at, graceMs }) => {
  const hold = draft.get("receipt", id);
  if (hold === undefined) return { status: "unknown" };
  if (!isHold(hold)) return { status: "already_resolved" };
  if (hold.state === "orphaned") return { status: "orphaned" };
  draft.put("receipt", { ...hold, state: "orphaned", leaseUntil: at + graceMs });
  return { status: "orphaned" };
};

/** Takes the agent from a hold, whose request the protocol serves from now on. */
export const reassign: Rule<"reassign"> = (place, { id }) => {
  const { draft } = place;
  const hold = draft.get("receipt", id);
  if (hold === undefined) return { status: "unknown" };
  if (!isHold(hold)) return { status: "already_resolved" };
  if (hold.server === null) return { status: "reassigned" };
  draft.put("receipt", { ...hold, server: null, offer: null });
  countUnder(place, agentPartition(hold.server as `0x${string}`), windowStart("day", hold.admittedAt), 0);
  return { status: "reassigned" };
};

/** A repeated resolution. The same one has the same reply. Another one changes nothing, and alerts the operator. */
function repeatedResolve(
  place: Place,
  { id, state: known, chargeNanoUsd: charged }: ReceiptRow,
  state: "settled" | "released",
  chargeNanoUsd: NanoUsd,
): ResolveReply {
  if (known === state && charged === chargeNanoUsd) return { status: state, ...left(place, holdsNow(place)) };
  place.draft.alert(`${id}: is ${known} at ${charged}, and was to be ${state} at ${chargeNanoUsd}`);
  return { status: "already_resolved" };
}

/**
 * The first of the payer's own budgets that refuses.
 *
 * @param limits Those of the key; undefined for a session.
 */
function refusalFor(
  { draft }: Place,
  holds: readonly ReceiptRow[],
  limits: readonly CountedLimit[] | undefined,
  { at, amountNanoUsd }: Reserve,
): Refusal | undefined {
  const inDollars = limits?.filter(({ limit }) => limit.unit === "nano_usd").map(budgetOfLimit);
  const budgets = inDollars === undefined ? [ownCapacity(draft, holds, at)] : [balanceOf(draft, holds), ...inDollars];
  const [first] = budgets;
  if (first !== undefined && holds.length >= MAX_IN_FLIGHT) return ownRefusal(first, "in_flight", amountNanoUsd);
  if (limits === undefined && first !== undefined && draft.get("emptied", "emptied") !== undefined) {
    return ownRefusal(first, "held", amountNanoUsd);
  }
  for (const budget of budgets) {
    const refusal = refusalOf(budget, amountNanoUsd, at);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** The first limit on requests or tokens that refuses. */
function firstExcess(limits: readonly CountedLimit[], { at, tokens = 0 }: Reserve): Excess | undefined {
  for (const counted of limits) {
    const { unit } = counted.limit;
    const excess = unit === "nano_usd" ? undefined : excessOf(counted, unit === "requests" ? 1 : tokens, at);
    if (excess !== undefined) return excess;
  }
  return undefined;
}

function ownRefusal({ name, window }: CountedBudget, cause: "in_flight" | "held", neededNanoUsd: NanoUsd): Refusal {
  return { budget: name, cause, neededNanoUsd, availableNanoUsd: 0, window, resetsAt: null };
}
