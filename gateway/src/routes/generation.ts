import type { ReceiptRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import { isRequestId } from "@inference/protocol/id";
import type { GatewayContext } from "../http/context.ts";
import { type Reader, requireReaders } from "../http/identify.ts";
import { toGenerationObject } from "./generation-object.ts";

/** Longer ones no provider makes, and none is kept. */
const MAX_ID_CHARACTERS = 200;

/**
 * GET /api/v1/generation?id=: the receipt of a request, by the id in its `x-request-id` header or by the `id` in its
 * answer's body. There is none before the request has ended, and none of another's.
 */
export async function getGeneration(context: GatewayContext): Promise<Response> {
  const readers = await requireReaders(context);
  const id = context.req.query("id") ?? "";
  if (id === "" || id.length > MAX_ID_CHARACTERS) {
    const message = "Send the answer's `x-request-id` header, or its body's `id`: /api/v1/generation?id=req_...";
    return fail("invalid_request", message, { param: "id" });
  }
  for (const reader of readers) {
    const receipt = await readReceipt(context, reader, id);
    if (receipt !== null) return context.json({ data: toGenerationObject(receipt) });
  }
  return fail("not_found", `There is no receipt \`${id}\` here. A request has one as soon as it has ended.`);
}

async function readReceipt(
  context: GatewayContext,
  { partition, keyId }: Reader,
  id: string,
): Promise<ReceiptRow | null> {
  const { ledger } = context.var.gateway.environment;
  const receipt = isRequestId(id)
    ? await ledger.read(partition, { type: "receipt", id })
    : await ledger.read(partition, { type: "answered", upstreamId: id });
  return receipt !== null && (keyId === null || receipt.keyId === keyId) ? receipt : null;
}
