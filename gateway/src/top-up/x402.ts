import { fail } from "@inference/protocol/errors";
import { NANO_USD_PER_TOKEN_UNIT, type NanoUsd } from "@inference/protocol/money";
import { signature } from "@inference/protocol/wire/fields";
import { authorization, type Relayed, type RelayQuote } from "@inference/protocol/wire/top-up";
import { getAddress } from "viem/utils";
import * as z from "zod";

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

type Requirements = NonNullable<ReturnType<typeof requirementsOf>>;

/** The payment that covers this cost; undefined where requests cannot be paid. */
export function requirementsOf(quote: RelayQuote, neededNanoUsd: NanoUsd) {
  const { x402, stablecoin } = quote;
  if (x402 === null) return undefined;
  const unit = 10n ** BigInt(stablecoin.decimals - 6);
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
  const unit = 10n ** BigInt(quote.stablecoin.decimals - 6);
  return encode({
    success: payment.state === "confirmed" || payment.state === "credited",
    ...{ transaction: payment.transaction ?? "", network: networkOf(quote), payer: payment.owner },
    amount: String(BigInt(payment.amount_token) * unit),
    extra: { id: payment.id, state: payment.state, balance_of: payment.account },
  });
}

/** Reads the header of a payment. Throws `payment_refused` unless it pays here. */
export function readPayment(header: string, quote: RelayQuote): Paid {
  const read = header.length <= MAX_HEADER ? payload.safeParse(parsed(header)) : undefined;
  if (read?.success !== true) {
    return refuse(
      `\`${PAYMENT_SIGNATURE}\` must be the base64 of an x402 payload of version 2 with scheme \`exact\` and an ERC-3009 authorization.`,
    );
  }
  const { accepted, payload: paid } = read.data;
  if (accepted.network !== networkOf(quote))
    refuse(`The payment is on ${accepted.network}. Pay on ${networkOf(quote)}.`);
  if (!isSame(accepted.asset, quote.stablecoin.address)) refuse(`Pay with ${quote.stablecoin.address}.`);
  if (!isSame(paid.authorization.to, quote.x402?.pay_to ?? "")) refuse(`Pay to ${quote.x402?.pay_to}.`);
  return paid;
}

function parsed(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  } catch {
    return undefined;
  }
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
  return fail("payment_refused", `${message} Nothing was paid.`, { param: PAYMENT_SIGNATURE });
}
