import type { Excess, KeyTerms, Refusal, ReserveReply, UsedModel } from "@inference/ledger/commands";
import { allowsUse, excessOf } from "@inference/ledger/key-limits";
import { type BudgetView, type KeyView, limitBudget } from "@inference/ledger/reads";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import { keyLimitName } from "@inference/protocol/key-limit";
import { formatUsd, type NanoUsd } from "@inference/protocol/money";
import type { Spender } from "../../auth/spender.ts";
import { isoOrNull } from "../../http/time.ts";
import type { HoldTerms, Quote } from "../../pricing/quote.ts";
import { mostTokens, type Order, usedTerms } from "../requests/order.ts";

/**
 * A budget's refusal as an error: what was needed, what is left, when it is whole again, and the `max_tokens` that
 * would have fitted.
 *
 * @param jitter 0 to 1: spreads the retries of what heals in seconds over 1 to 5 s.
 * @param spender Whose capacity was to pay; null for an account's balance.
 */
export function refusalError(
  refusal: Refusal,
  hold: HoldTerms,
  jitter: number,
  spender: Spender | null = null,
): GatewayError {
  // Too many in flight says nothing of amounts: none is too small, and none would have fitted.
  const isAmount = refusal.cause !== "in_flight";
  const affordable = isAmount ? hold.affordableTokens(refusal.availableNanoUsd) : null;
  const { outputField = "max_tokens" } = hold;
  const resetsAt = isoOrNull(refusal.resetsAt);
  const metadata = {
    needed_nano_usd: refusal.neededNanoUsd,
    ...(isAmount ? { available_nano_usd: refusal.availableNanoUsd } : {}),
    ...(affordable === null ? {} : { max_affordable_tokens: affordable }),
    ...(refusal.budget === "key" ? { window: refusal.window } : {}),
    ...(resetsAt === null ? {} : { resets_at: resetsAt }),
  };
  const detail = {
    ...wording(refusal, { affordable, outputField, resetsAt, isWallets: spender?.agentToken === null }),
    param: affordable === null ? null : outputField,
    metadata,
  };
  const balance = refusal.budget === "balance" && isAmount ? { balanceNanoUsd: refusal.availableNanoUsd } : {};
  return new GatewayError({ ...detail, ...balance, retryAfterS: 1 + Math.floor(jitter * 4.999) });
}

type Circumstances = {
  affordable: number | null;
  outputField: string;
  resetsAt: string | null;
  /** It came with the session of a wallet, which may have a balance as well. */
  isWallets: boolean;
};

function wording(
  refusal: Refusal,
  { affordable, outputField, resetsAt, isWallets }: Circumstances,
): Pick<ErrorDetail, "code" | "message"> {
  const needed = `$${formatUsd(refusal.neededNanoUsd)}`;
  const available = `$${formatUsd(refusal.availableNanoUsd)}`;
  const smaller = affordable !== null && affordable > 0 ? ` Send ${outputField} of at most ${affordable}.` : "";
  const later = ` ${smaller === "" ? "Retry" : "Or retry"} in a few seconds.`;
  const until = resetsAt === null ? "" : ` It resets at ${resetsAt}.`;
  switch (refusal.cause) {
    case "in_flight": {
      const whose = refusal.budget === "capacity" ? "identity" : "account";
      return {
        code: "too_many_in_flight",
        message: `Too many requests of this ${whose} are in flight. Retry when one of them has ended.`,
      };
    }
    case "share":
      return {
        code: "request_too_expensive",
        message: `This request could cost ${needed}. One account may hold at most ${available} of the day's ceiling.${smaller}`,
      };
    case "share_held":
      return {
        code: "too_many_in_flight",
        message: `This request could cost ${needed}. This account's requests in flight leave ${available} of its share of the day's ceiling. Retry when one of them has ended.`,
      };
    case "held":
      return refusal.budget === "ceiling"
        ? {
            code: "ceiling_reserved",
            message: `This request could cost ${needed}. Requests in flight leave ${available} of today's settlement ceiling.${smaller}${later}`,
          }
        : {
            code: "budget_reserved",
            message: `This request could cost ${needed}. Other requests in flight leave ${available}.${smaller}${later}`,
          };
    case "settled":
      return settledWording(refusal.budget, {
        costs: `This request could cost ${needed}. Only ${available} is`,
        smaller,
        until,
        isWallets,
      });
  }
}

function settledWording(
  budget: Refusal["budget"],
  { costs, smaller, until, isWallets }: { costs: string; smaller: string; until: string; isWallets: boolean },
): Pick<ErrorDetail, "code" | "message"> {
  switch (budget) {
    case "balance": {
      const more = smaller === "" ? " Activate more tokens." : " Or activate more tokens.";
      return { code: "insufficient_balance", message: `${costs} available.${smaller}${more}` };
    }
    case "key": {
      const raise = " The wallet can raise the limit: POST /api/v1/keys/{id}/limit.";
      return { code: "key_limit_exceeded", message: `${costs} left of this key's limit.${smaller}${until}${raise}` };
    }
    case "capacity": {
      const key = isWallets ? " An API key spends the wallet's balance instead: POST /api/v1/keys makes one." : "";
      return { code: "capacity_exhausted", message: `${costs} left of today's capacity.${smaller}${until}${key}` };
    }
    case "ceiling": {
      const left = "left of the gateway's settlement ceiling for today.";
      return { code: "daily_cap_reached", message: `${costs} ${left}${smaller}${until}` };
    }
  }
}

const RAISE = "The wallet can change the key's terms: POST /api/v1/keys/{id}/limit.";

/** Why the ledger admits no request now: a budget, a limit on requests or tokens, or the terms of models. */
export type Refused = Extract<ReserveReply, { status: "refused" | "limited" | "model_not_allowed" }>;

/** A request's needs at a time. `models`: undefined for any. */
export type KeyNeeds = { at: number; neededNanoUsd: NanoUsd; tokens: number; models?: readonly UsedModel[] };

/** The refusal of a request by its key's terms or limits, null if there is none. Requests in flight do not count. */
export function refusedByKey(
  { terms, limits }: KeyView,
  { at, neededNanoUsd, tokens, models }: KeyNeeds,
): Refused | null {
  if (models !== undefined && !allowsUse(terms, models)) return { status: "model_not_allowed", terms };
  for (const counted of limits) {
    const { unit } = counted.limit;
    const needed = { nano_usd: neededNanoUsd, requests: 1, tokens }[unit];
    const excess = excessOf({ ...counted, held: 0 }, needed, at);
    if (excess === undefined) continue;
    return unit === "nano_usd" ? shortOf("key", limitBudget(counted), neededNanoUsd) : { status: "limited", excess };
  }
  return null;
}

/** The refusal of a budget whose unsettled amount, and `more`, are less than the cost; null if they cover it. */
export function shortOf(
  budget: Refusal["budget"],
  { limitNanoUsd, settledNanoUsd, availableNanoUsd, window, resetsAt }: BudgetView,
  neededNanoUsd: NanoUsd,
  more: NanoUsd = 0,
): Refused | null {
  if (limitNanoUsd === null || neededNanoUsd <= Math.max(0, limitNanoUsd - settledNanoUsd) + more) return null;
  const refusal = { cause: "settled" as const, neededNanoUsd, availableNanoUsd: availableNanoUsd ?? 0 };
  return { status: "refused", refusal: { budget, ...refusal, window, resetsAt } };
}

/**
 * A refusal as an error.
 *
 * @param jitter 0 to 1: spreads the retries of what heals in seconds over 1 to 5 s.
 * @param spender Whose capacity was to pay; null for an account's balance.
 */
export function refusedError(
  refused: Refused,
  order: Order,
  { at, jitter, spender }: { at: number; jitter: number; spender: Spender | null },
): GatewayError {
  switch (refused.status) {
    case "refused":
      return refusalError(refused.refusal, order.hold, jitter, spender);
    case "limited":
      return excessError(refused.excess, mostTokens(order).quote, at, jitter);
    case "model_not_allowed":
      return modelError(refused.terms, order);
  }
}

/**
 * A refusal by a key's limit on requests or tokens, as an error: what was needed, what is left, when to retry, and the
 * `max_tokens` that would have fitted.
 */
function excessError(excess: Excess, quote: Quote, at: number, jitter: number): GatewayError {
  const { limit, cause, needed, available } = excess;
  const { bound, choices = 1, outputField = "max_tokens" } = quote;
  // A request above the whole limit fits no minute: the hint is for the next one.
  const left = needed > limit.most ? limit.most : available;
  const output = Math.floor((left - (bound?.promptTokens ?? 0)) / choices);
  const affordable = limit.unit === "tokens" && bound !== undefined && bound.completionTokens > 0 ? output : 0;
  const resetsAt = excess.resetsAt ?? at;
  const metadata = {
    limit: keyLimitName(limit),
    ...{ needed, available, most: limit.most, resets_at: new Date(resetsAt).toISOString() },
    ...(affordable > 0 ? { max_affordable_tokens: affordable } : {}),
  };
  const smaller = affordable > 0 ? ` Send ${outputField} of at most ${affordable}.` : "";
  const param = affordable > 0 ? outputField : null;
  const may = `This request could use ${needed} ${needed === 1 ? limit.unit.slice(0, -1) : limit.unit}. This key may use ${limit.most} in a minute`;
  if (needed > limit.most) {
    return new GatewayError({ code: "key_limit_exceeded", message: `${may}.${smaller} ${RAISE}`, param, metadata });
  }
  const untilReset = Math.ceil((resetsAt - at) / 1_000);
  const retryAfterS = Math.max(1, cause === "held" ? Math.min(untilReset, 1 + Math.floor(jitter * 4.999)) : untilReset);
  const message = `${may}, and ${available} are left.${smaller} ${smaller === "" ? "Retry" : "Or retry"} in ${retryAfterS} s.`;
  return new GatewayError({ code: "rate_limited", message, param, metadata, retryAfterS });
}

/** The terms of a key do not allow a model of the request. */
function modelError(terms: KeyTerms, order: Order): GatewayError {
  const { models, isPrivate } = terms;
  const { id } = usedTerms(order).models.find((model) => !allowsUse(terms, [model])) ?? order.model;
  const names = models?.map((model) => `\`${model}\``).join(", ");
  const only = [
    ...(names === undefined ? [] : [`${names} only`]),
    ...(isPrivate ? ["models only whose `privacy` in GET /api/v1/models is `private`"] : []),
  ].join(", and ");
  const message = `This key may not use \`${id}\`. It may use ${only}. Name another model. ${RAISE}`;
  return new GatewayError({ code: "model_not_allowed", message, param: "model" });
}
