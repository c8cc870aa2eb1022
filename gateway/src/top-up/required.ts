import { accountPartition } from "@inference/ledger/partition";
import { type ErrorMetadata, GatewayError } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import { zeroAddress } from "viem";
import { mediaTypeOf, readBody } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import type { InferenceRoute } from "../inference/request.ts";
import { makeOrder } from "../inference/requests/make-order.ts";
import { readBodyOf, requireParsed } from "../inference/requests/read-body.ts";
import { PAYMENT_SIGNATURE, quoteOf, requiredHeader, requirementsOf } from "./x402.ts";

/** Adds to an error of missing money how a program pays it: the header of x402, and `metadata.top_up`. */
export async function withTopUp(context: GatewayContext, error: unknown): Promise<unknown> {
  const { relay, environment } = context.get("gateway");
  if (relay === null || !(error instanceof GatewayError) || !paidByTopUp.has(error.detail.code)) return error;
  const { needed_nano_usd: needed, available_nano_usd: available } = error.detail.metadata ?? {};
  try {
    const quotes = await relay.quotes(context.get("at"));
    const missing = Math.max(0, numberOf(needed) - numberOf(available));
    const { config } = context.get("gateway");
    const quote = quoteOf(config, quotes);
    const requirements = quote && requirementsOf(quote, missing);
    const { detail } = error;
    const { baseUrl } = config;
    const top_up: ErrorMetadata = {
      quotes: `${baseUrl}/api/v1/top-up`,
      message: `${baseUrl}/api/v1/top-up/message`,
      chain_ids: quotes.map(({ chain_id: id }) => id),
      ...(requirements === undefined ? {} : { x402: requirements }),
    };
    if (requirements !== undefined) {
      const url = new URL(context.req.path, baseUrl).toString();
      context.set("paymentRequired", requiredHeader(url, requirements, detail.message));
    }
    return new GatewayError({ ...detail, metadata: { ...detail.metadata, top_up } });
  } catch (failure) {
    environment.log("info", "top_up_not_told", { error: String(failure) });
    return error;
  }
}

const paidByTopUp: ReadonlySet<string> = new Set(["insufficient_balance", "payment_required", "payment_refused"]);

function numberOf(value: unknown): NanoUsd {
  return typeof value === "number" ? value : 0;
}

/**
 * The error of a request without a credential: 402 with the price of its maximum where requests can be paid, else
 * undefined. Only a small JSON body is read for it, when it is its client's turn. The 402 of any other names the least
 * amount.
 */
export async function paymentRequired(
  context: GatewayContext,
  route: InferenceRoute,
): Promise<GatewayError | undefined> {
  const { gateway, at } = context.var;
  if (gateway.relay === null || context.req.header("authorization") || context.req.header("x-api-key"))
    return undefined;
  if (quoteOf(gateway.config, await gateway.relay.quotes(at).catch(() => [])) === undefined) return undefined;
  const length = Number(context.req.header("content-length") ?? Number.NaN);
  const isPriced = length <= gateway.config.request.unprovenBodyBytes && mediaTypeOf(context) === "application/json";
  const needed = isPriced ? await priceOf(context, route) : 0;
  const message =
    "This request has no credential. Send your API key as `Authorization: Bearer <key>`, or pay it by x402 as the header " +
    `PAYMENT-REQUIRED says, and send it again with ${PAYMENT_SIGNATURE}.`;
  return new GatewayError({ code: "payment_required", message, metadata: { needed_nano_usd: needed } });
}

/** The most that the request can cost. Throws for a request that cannot be served. */
async function priceOf(context: GatewayContext, route: InferenceRoute): Promise<NanoUsd> {
  const { gateway } = context.var;
  const blocks = await readBody(context, gateway.config.request.unprovenBodyBytes, null);
  const nobody = accountPartition(zeroAddress);
  return gateway.freeWork.run(context.var.client ?? "", async () => {
    const read = await readBodyOf(gateway, nobody, route, { blocks, wantsFingerprint: false });
    return makeOrder(requireParsed(read)).hold.maxNanoUsd;
  });
}
