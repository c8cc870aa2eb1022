import * as z from "zod";
import { address, hash, signature, time } from "./fields.ts";
import { list } from "./json.ts";

/** Payments that a relay sends for their payers: the forms of the keeper's answers, and of the gateway's. */
export const tokenText = z
  .string()
  .regex(/^(0|[1-9]\d{0,14})$/, "must be a whole number of token units (1e-6 dollar) as text, such as 5000000")
  .describe("Token units, 1e-6 dollar, as text.");
const seconds = z.int().min(0).describe("Unix time, in seconds.");

/** `GaslessTopUp.TopUp`, as its owner signs it. */
export const topUpTerms = z.strictObject({
  owner: address.describe("Who pays and signs."),
  account: address.describe("Whose balance rises."),
  amount: tokenText,
  fee: tokenText,
  feeTo: address.describe("The relay, as the quote names it."),
  deadline: seconds,
  salt: hash.describe("32 bytes of your choice: two equal top-ups need two."),
});

export const topUpBody = z.strictObject({
  chain_id: z.int(),
  top_up: topUpTerms,
  signature: signature.describe("`permit` chains: of the TopUp; other chains: of the ReceiveWithAuthorization."),
  permit: z
    .strictObject({ deadline: seconds, signature })
    .optional()
    .describe("Of chains whose `method` is `permit`: the stablecoin's permit for amount and fee."),
});
export type TopUpBody = z.output<typeof topUpBody>;

const uint = z.string().regex(/^(0|[1-9]\d{0,77})$/);
/** ERC-3009's `TransferWithAuthorization`, as x402's scheme `exact` has it. `value` is in units of the stablecoin. */
export const authorization = z.strictObject({
  from: address,
  to: address,
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
});
export type Authorization = z.output<typeof authorization>;
/** The gateway's message to the relay. `fingerprint`: the digest of route and body that the payment is for. */
export const paymentBody = z.strictObject({ chain_id: z.int(), authorization, signature, fingerprint: hash });
export type PaymentBody = z.output<typeof paymentBody>;

/** A relay's terms on a chain. */
export const relayQuote = z.strictObject({
  chain_id: z.int(),
  method: z
    .enum(["authorization", "permit"])
    .describe("`authorization`: one signature (ERC-3009). `permit`: two, because this stablecoin has no ERC-3009."),
  contract: address.describe("`gaslessTopUp` of `GET /api/v1/contracts`."),
  stablecoin: z.strictObject({
    address,
    name: z.string(),
    version: z.string(),
    decimals: z.int().describe("A token unit is 10^(decimals - 6) units of the stablecoin."),
  }),
  fee_token: tokenText.describe("The relay's fee for one top-up, taken exactly, in token units as text."),
  fee_to: address,
  least_token: tokenText.describe("The least amount of a top-up, without the fee."),
  longest_s: z.int().describe("How far in the future a deadline may be, in seconds."),
  x402: z
    .strictObject({ pay_to: address, least_token: tokenText })
    .nullable()
    .describe("The payee of x402 payments; null where a request cannot be paid by itself."),
  standing_order: z
    .strictObject({
      puller: address.describe("The account that an owner's order must name."),
      below_token: tokenText.describe("Dollars are pulled while the credit on chain is below this, in token units."),
      least_token: tokenText.describe("The least amount of a pull. A smaller order is ignored."),
    })
    .nullable()
    .describe("The terms of orders in `standingOrders` of `GET /api/v1/contracts`; null where nobody pulls."),
});
export type RelayQuote = z.output<typeof relayQuote>;
export const relayQuotes = z.strictObject({ chains: list(relayQuote, 16) });
export const topUpQuotesAnswer = z.strictObject({ data: relayQuotes });

/** EIP-712 typed data as wallets take it (`eth_signTypedData_v4`). Large numbers are texts. */
const typedData = z.strictObject({
  domain: z.record(z.string(), z.union([z.string(), z.number()])),
  types: z.record(z.string(), z.array(z.strictObject({ name: z.string(), type: z.string() }))),
  primaryType: z.string(),
  message: z.record(z.string(), z.union([z.string(), z.number()])),
});
export const topUpMessageAnswer = z.strictObject({
  data: z.strictObject({
    id: hash,
    chain_id: z.int(),
    top_up: topUpTerms,
    sign: z
      .array(typedData)
      .describe("What to sign, in this order: for `signature`, and where there are two, for `permit.signature`."),
    permit_deadline: seconds.nullable(),
  }),
});

export const relayStates = ["accepted", "sent", "confirmed", "credited", "failed", "expired"] as const;
export const relayed = z.strictObject({
  id: hash,
  kind: z.enum(["top-up", "x402"]),
  chain_id: z.int(),
  owner: address,
  account: address,
  amount_token: tokenText,
  fee_token: tokenText,
  state: z
    .enum(relayStates)
    .describe(
      "`accepted`: checked and stored. `sent`: a transaction is on its way. `confirmed`: the chain has it. `credited`: " +
        "the balance has it. `failed`: `reason` says why, and what was paid. `expired`: its time passed; nothing was paid.",
    ),
  transaction: hash.nullable(),
  block: z.int().nullable(),
  waits_for: z.string().nullable(),
  reason: z.string().nullable(),
  expires_at: time,
});
export type Relayed = z.output<typeof relayed>;
/**
 * The relay's answer to a payment. `serves`: the relay stored it for this fingerprint before the chain had it, so it pays
 * for this request. Otherwise it is credit of its signer, and proves nothing of who sent it here.
 */
export const relayedPayment = relayed.extend({ serves: z.boolean() });
export type RelayedPayment = z.output<typeof relayedPayment>;
export const topUpAnswer = z.strictObject({ data: relayed });

/** How a program pays for what a 402 refused. */
export const topUpTold = z.strictObject({
  quotes: z.string(),
  message: z.string(),
  chain_ids: z.array(z.int()),
  x402: z
    .strictObject({
      ...{ scheme: z.string(), network: z.string(), amount: z.string(), asset: address, payTo: address },
      maxTimeoutSeconds: z.int(),
      extra: z.record(z.string(), z.string()),
    })
    .optional(),
});
