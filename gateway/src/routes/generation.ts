import { isAccount, partitionAddress } from "@inference/ledger/partition";
import type { ReceiptRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import { isRequestId } from "@inference/protocol/id";
import { generationAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import { type Reader, requireReaders } from "../http/identify.ts";
import { queryOf } from "../http/query.ts";
import { type ReceiptDetail, signedReceiptOf } from "../inference/charge/receipt.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { toGenerationObject } from "./generation-object.ts";
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
