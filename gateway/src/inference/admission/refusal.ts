import type { Refusal } from "@inference/ledger/commands";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import { formatUsd } from "@inference/protocol/money";
import type { Spender } from "../../auth/spender.ts";
import { isoOrNull } from "../../http/time.ts";
import type { HoldTerms } from "../../pricing/quote.ts";

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
