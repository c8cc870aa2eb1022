import { shareOf } from "@inference/ledger/budget";
import { isAccount, partitionAddress } from "@inference/ledger/partition";
import type { ReceiptRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import { isRequestId } from "@inference/protocol/id";
import type { NanoUsd } from "@inference/protocol/money";
import { generationAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import { type Reader, requireReaders } from "../http/identify.ts";
import { amounts, usd } from "../http/money.ts";
import { queryOf } from "../http/query.ts";
import { type ReceiptDetail, signedReceiptOf } from "../inference/charge/receipt.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { settlementOf } from "./statement-objects.ts";

const query = z.strictObject({
  id: z.string().min(1).max(200).describe("The answer's `x-request-id` header, or the `id` in its body."),
});

/** The receipt of another account is 404, as one that does not exist. */
export const getGeneration = endpoint({
  prefixes: apiPrefixes,
  path: "/generation",
  id: "getGeneration",
  group: "Spending",
  title: "The receipt of a request",
  about:
    "By our id, or by the body's `id` of one of the last 1,000 requests. A request has a receipt as soon as it has ended.",
  credentials: ["API key", "session"],
  query,
  answers: [ok("The receipt.", json("GenerationAnswer", generationAnswer))],
  errors: ["not_found"],
  async handle(context) {
    const readers = await requireReaders(context);
    const { success, data } = query.safeParse({ id: queryOf(context).id });
    if (!success) {
      const message = "Send the answer's `x-request-id` header, or its body's `id`: /api/v1/generation?id=req_...";
      return fail("invalid_request", message, { param: "id" });
    }
    const { id } = data;
    for (const reader of readers) {
      const receipt = await readReceipt(context, reader, id);
      if (receipt === null) continue;
      const { gateway } = context.var;
      const isOfBalance = isAccount(reader.partition) && receipt.chargeNanoUsd > 0;
      const owner = { partition: reader.partition, account: partitionAddress(reader.partition) };
      const settlement = isOfBalance ? await settlementOf(gateway, owner, receipt) : null;
      const signed = isOfBalance ? signedReceiptOf(gateway, owner.account, receipt) : null;
      const { tried } = JSON.parse(receipt.detail) as Partial<ReceiptDetail>;
      return context.json({ data: { ...toGenerationObject(receipt), tried, signed_receipt: signed, settlement } });
    }
    return fail("not_found", `There is no receipt \`${id}\` here. A request has one as soon as it has ended.`);
  },
});

async function readReceipt(
  context: GatewayContext,
  { partition, keyId }: Reader,
  id: string,
): Promise<ReceiptRow | null> {
  const { environment, freeWork } = context.var.gateway;
  const { ledger } = environment;
  const isOwnId = isRequestId(id);
  if (!isOwnId) await freeWork.wait(partition);
  const receipt = isOwnId
    ? await ledger.read(partition, { type: "receipt", id })
    : await ledger.read(partition, { type: "answered", upstreamId: id });
  return receipt !== null && (keyId === null || receipt.keyId === keyId) ? receipt : null;
}

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
