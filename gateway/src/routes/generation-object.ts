import { shareOf } from "@inference/ledger/budget";
import type { ReceiptRow } from "@inference/ledger/tables";
import type { NanoUsd } from "@inference/protocol/money";
import { amounts, usd } from "../http/money.ts";
import type { ReceiptDetail } from "../inference/charge/receipt.ts";

/** A receipt as the API shows it, under OpenRouter's names where it has them. Unknown values are null. */
export function toGenerationObject(receipt: ReceiptRow) {
  const detail = JSON.parse(receipt.detail) as Partial<ReceiptDetail>;
  const usage = detail.usage ?? null;
  const { server, offer } = receipt;
  return {
    id: receipt.id,
    upstream_id: detail.upstreamId ?? null,
    model: detail.model ?? null,
    route: detail.route ?? null,
    key_id: receipt.keyId,
    tag: detail.tag ?? null,
    created_at: new Date(receipt.admittedAt).toISOString(),
    generation_time: (receipt.resolvedAt ?? receipt.admittedAt) - receipt.admittedAt,
    streamed: detail.stream ?? null,
    cancelled: detail.cancelled ?? false,
    outcome: receipt.state,
    basis: detail.basis ?? "nothing",
    total_cost: usd(receipt.chargeNanoUsd),
    charge_nano_usd: receipt.chargeNanoUsd,
    held_nano_usd: receipt.heldNanoUsd,
    price_snapshot: detail.snapshot ?? null,
    tokens_prompt: usage?.promptTokens ?? null,
    tokens_completion: usage?.completionTokens ?? null,
    native_tokens_prompt: usage?.promptTokens ?? null,
    native_tokens_completion: usage?.completionTokens ?? null,
    native_tokens_reasoning: usage?.reasoningTokens ?? null,
    native_tokens_cached: usage?.cacheReadTokens ?? null,
    native_tokens_cache_write: usage?.cacheWriteTokens ?? null,
    audio_seconds: usage?.audioMs === undefined ? null : usage.audioMs / 1000,
    served_by: server ?? (receipt.keyId === null ? null : "protocol"),
    offer,
    ends_at_nano_usd: receipt.endsAtNanoUsd,
    ...amounts({ rebate: offer === null ? 0 : rebateOf(receipt.chargeNanoUsd) }),
  };
}

const REBATE_PERCENT = 10;

/** The rebate that the settlement pays for a use that an agent served, rounded as in `AgentSplit`. */
function rebateOf(chargeNanoUsd: NanoUsd): NanoUsd {
  return shareOf(chargeNanoUsd, REBATE_PERCENT, 100);
}
