import type { ReceiptRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import { isRequestId } from "@inference/protocol/id";
import type { ReceiptDetail } from "../../inference/exchange.ts";
import type { GatewayContext } from "../context.ts";
import { requireApiKey } from "../identify.ts";
import { usd } from "../money.ts";

/**
 * GET /api/v1/generation?id=: the receipt of a request of the key's account, by the id in its `x-request-id` header.
 * There is none before the request has ended, and none of another account's.
 */
export async function getGeneration(context: GatewayContext): Promise<Response> {
  const { partition } = await requireApiKey(context);
  const id = context.req.query("id") ?? "";
  if (!isRequestId(id)) {
    const message = "Send the id of the answer's `x-request-id` header, like /api/v1/generation?id=req_...";
    return fail("invalid_request", message, { param: "id" });
  }
  const receipt = await context.var.gateway.environment.ledger.read(partition, { type: "receipt", id });
  if (receipt === null) {
    return fail("not_found", `This account has no receipt \`${id}\`. A request has one as soon as it has ended.`);
  }
  return context.json({ data: toGeneration(receipt) });
}

/** A receipt under OpenRouter's names where it has them; what is not known of a request is null. */
function toGeneration(receipt: ReceiptRow): Record<string, unknown> {
  const detail = JSON.parse(receipt.detail) as Partial<ReceiptDetail>;
  const usage = detail.usage ?? null;
  return {
    id: receipt.id,
    upstream_id: detail.upstreamId ?? null,
    model: detail.model ?? null,
    route: detail.route ?? null,
    key_id: receipt.keyId,
    created_at: new Date(receipt.admittedAt).toISOString(),
    generation_time: receipt.resolvedAt - receipt.admittedAt,
    streamed: detail.stream ?? null,
    cancelled: detail.cancelled ?? false,
    outcome: receipt.outcome,
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
  };
}
