import { lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { NANO_USD_PER_TOKEN_UNIT, type NanoUsd, stablecoinUnits } from "@inference/protocol/money";
import { signature } from "@inference/protocol/wire/fields";
import { authorization, type Relayed, type RelayQuote } from "@inference/protocol/wire/top-up";
import { getAddress } from "viem/utils";
import * as z from "zod";
import { type GatewayConfig, limits } from "../config.ts";
import { parseJson } from "../json-object.ts";

/** The messages of x402, version 2, scheme `exact` (https://github.com/x402-foundation/x402), in its HTTP headers. */
export const PAYMENT_REQUIRED = "PAYMENT-REQUIRED";
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";
export const PAYMENT_RESPONSE = "PAYMENT-RESPONSE";

/** How long a payment is valid that the gateway asks for, in seconds. */
const PAYMENT_S = 300;
/** The longest header with a payment. */
const MAX_HEADER = 8 * 1024;

/** What a client pays with. Fields that are not needed are ignored. */
const payload = z.object({
  x402Version: z.literal(2),
  accepted: z.object({ scheme: z.literal("exact"), network: z.string(), asset: z.string(), payTo: z.string() }),
  payload: z.object({ authorization, signature }),
});
export type Paid = z.output<typeof payload>["payload"];

type Requirements = ReturnType<typeof requirementsOf>;
/** The terms of a chain where requests can be paid. */
export type X402Quote = RelayQuote & { x402: NonNullable<RelayQuote["x402"]> };

/** The terms of the chain that has the balances; undefined where no request can be paid. */
export function quoteOf(
  { settlement }: Pick<GatewayConfig, "settlement">,
  quotes: readonly RelayQuote[],
): X402Quote | undefined {
  return quotes.find((quote): quote is X402Quote => quote.chain_id === settlement.chainId && quote.x402 !== null);
}

/** The payment that covers this cost. */
export function requirementsOf(quote: X402Quote, neededNanoUsd: NanoUsd) {
  const { x402, stablecoin } = quote;
  const unit = stablecoinUnits(stablecoin.decimals);
  const needed = (BigInt(neededNanoUsd) + NANO_USD_PER_TOKEN_UNIT - 1n) / NANO_USD_PER_TOKEN_UNIT;
  const least = BigInt(x402.least_token);
  return {
    scheme: "exact",
    network: networkOf(quote),
    amount: String((needed > least ? needed : least) * unit),
    asset: stablecoin.address,
    payTo: x402.pay_to,
    maxTimeoutSeconds: PAYMENT_S,
    extra: { assetTransferMethod: "eip3009", name: stablecoin.name, version: stablecoin.version },
  };
}

/** The header of a 402. */
export function requiredHeader(url: string, requirements: Requirements, error: string): string {
  const resource = {
    url,
    description: "Inference, metered. What the request does not use stays as your balance.",
    mimeType: "",
  };
  return encode({ x402Version: 2, error, resource, accepts: [requirements] });
}

/** The header of an answer to a paid request. */
export function responseHeader(quote: RelayQuote, payment: Relayed): string {
  const unit = stablecoinUnits(quote.stablecoin.decimals);
  return encode({
    success: payment.state === "confirmed" || payment.state === "credited",
    ...{ transaction: payment.transaction ?? "", network: networkOf(quote), payer: payment.owner },
    amount: String(BigInt(payment.amount_token) * unit),
    extra: { id: payment.id, state: payment.state, balance_of: payment.account },
  });
}

/**
 * Reads the header of a payment. Throws `payment_refused` unless it pays here. A payment's claim must outlast it, so one
 * that is valid for longer than claims are kept is refused. One that has been over for as long is not looked up.
 */
export function readPayment(header: string, { quote, at }: { quote: X402Quote; at: number }): Paid {
  const text = header.length <= MAX_HEADER ? Buffer.from(header, "base64").toString() : "";
  const read = payload.safeParse(parseJson(text));
  if (!read.success) {
    return refuse(
      `\`${PAYMENT_SIGNATURE}\` must be the base64 of an x402 payload of version 2 with scheme \`exact\` and an ERC-3009 authorization.`,
    );
  }
  const { accepted, payload: paid } = read.data;
  const { from, to, value, validAfter, validBefore } = paid.authorization;
  if (accepted.network !== networkOf(quote))
    refuse(`The payment is on ${accepted.network}. Pay on ${networkOf(quote)}.`);
  if (!isSame(accepted.asset, quote.stablecoin.address)) refuse(`Pay with ${quote.stablecoin.address}.`);
  if (!isSame(to, quote.x402.pay_to)) refuse(`Pay to ${quote.x402.pay_to}.`);
  if ([value, validAfter].some((uint) => BigInt(uint) >> 256n > 0n)) refuse("Its numbers must be below 2^256.");
  const leftMs = Number(validBefore) * 1_000 - at;
  if (leftMs < -limits.idempotencyMs) refuse("The payment's time has passed.");
  if (leftMs > limits.idempotencyMs) refuse("`validBefore` must be at most 24 h away.");
  // An address without the letters' case, which nothing checks then.
  return { ...paid, authorization: { ...paid.authorization, from: lowerAddress(from), to: lowerAddress(to) } };
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === getAddress(other).toLowerCase();
}

function networkOf({ chain_id: chainId }: RelayQuote): string {
  return `eip155:${chainId}`;
}

function encode(message: unknown): string {
  return Buffer.from(JSON.stringify(message)).toString("base64");
}

function refuse(message: string): never {
  return fail("payment_refused", `${message} The payment was not sent.`, { param: PAYMENT_SIGNATURE });
}
