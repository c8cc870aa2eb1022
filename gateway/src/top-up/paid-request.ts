import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { accountPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import {
  cappedNanoUsd,
  formatDecimal,
  formatUsd,
  NANO_USD_PER_TOKEN_UNIT,
  type NanoUsd,
  stablecoinUnits,
} from "@inference/protocol/money";
import { checkPlainSignature, type Hex } from "@inference/protocol/plain-signature";
import { pause } from "@inference/protocol/timers";
import { paymentId, transferTypedData } from "@inference/protocol/top-up";
import type { Relayed, RelayedPayment, RelayQuote } from "@inference/protocol/wire/top-up";
import { hashTypedData } from "viem/utils";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";
import { presentedCredential } from "../http/credential.ts";
import { type KeyNeeds, refusedByKey } from "../inference/admission/refusal.ts";
import type { RelayClient } from "./relay-client.ts";
import { withCredit } from "./relayed.ts";
import { PAYMENT_SIGNATURE, type Paid, quoteOf, readPayment, responseHeader } from "./x402.ts";

/** How long, and how often, a paid request waits for its credit. The ledger refuses one that is a minute old. */
const CREDIT_WAIT = { mostMs: 25_000, eachMs: 500 };

/**
 * A request that carries an x402 payment. Its payer is the signer's account. The dollars become credit as any others,
 * and the request then is one of that account: it holds its maximum and is settled exactly.
 *
 * The signature proves who paid, and not who sends the request: everybody can read it once the payment is in the
 * mempool. So the relay is told which request the payment is for before it is public, and the payment serves that one.
 */
export type PaidRequest = {
  credential: VerifiedCredential;
  /** The claim's name: one authorization serves one request. */
  id: string;
  /** An API key of the payer came with it, so the balance pays too. Otherwise the payment alone covers the request. */
  hasKey: boolean;
  paidNanoUsd: NanoUsd;
  /** Makes the payment and waits for its credit. Throws if it is refused, is for another request, or takes too long. */
  settle(request: { needs: Omit<KeyNeeds, "at">; fingerprint: Hex; clientGone: AbortSignal | null }): Promise<void>;
};

/**
 * Null for a request without a payment. Throws 401 `invalid_signature`, `payment_refused`, and 401 for a key of another
 * account beside it.
 */
export async function paidRequestOf(context: GatewayContext): Promise<PaidRequest | null> {
  const header = context.req.header(PAYMENT_SIGNATURE);
  const { gateway, at, client } = context.var;
  const { relay } = gateway;
  if (header === undefined || relay === null) return null;
  const quote = quoteOf(gateway.config, await relay.quotes(at));
  if (quote === undefined) return null;
  const paid = readPayment(header, { quote, at });
  const own = presentedCredential(context);
  const payer = await requireSigner(gateway, { quote, paid, client });
  if (own !== undefined && own.partition !== accountPartition(payer)) {
    const message = `This payment becomes credit of ${payer}, and the credential spends another balance. Leave one of them out.`;
    fail("payment_refused", message, { param: PAYMENT_SIGNATURE });
  }
  const id = paymentId(quote.chain_id, paid.authorization);
  const credential = own ?? gateway.credentials.ofPayments(payer).credential;
  context.set("credential", credential);
  // A key may be revoked, and counts by itself. Anyone may copy a payment: it counts for each network that sends it.
  gateway.rates.account.admit(own?.payer.digest ?? `${id} ${client}`, at);
  const unit = stablecoinUnits(quote.stablecoin.decimals);
  return {
    ...{ credential, id, hasKey: own !== undefined },
    paidNanoUsd: cappedNanoUsd((BigInt(paid.authorization.value) * NANO_USD_PER_TOKEN_UNIT) / unit),
    async settle({ needs, fingerprint, clientGone }) {
      const endsAt = Number(paid.authorization.validBefore) * 1_000;
      if (endsAt <= at) {
        fail("payment_refused", `The payment's time has passed. If it was made, ${inBalance(payer)}.`);
      }
      if (own === undefined) await requireKey(gateway, payer, { at, ...needs });
      const payment = await relay.pay({ chain_id: quote.chain_id, ...paid, fingerprint }, client);
      requireOurs(payment, payer);
      requireValue(payment, BigInt(paid.authorization.value) / unit);
      if (own === undefined) await makeKey(gateway, payer, at);
      context.set("paymentResponse", responseHeader(quote, payment));
      const { neededNanoUsd } = needs;
      const waiting = { payment, credential, neededNanoUsd, at, endsAt, client, clientGone };
      const made = await awaitCredit(gateway, relay, waiting);
      context.set("paymentResponse", responseHeader(quote, made));
    },
  };
}

/** The signer's address. A check takes 1 to 2 ms, and anyone can request many. */
async function requireSigner(
  gateway: Gateway,
  { quote, paid, client = "" }: { quote: RelayQuote; paid: Paid; client: string | undefined },
): Promise<Address> {
  const { authorization } = paid;
  const address = authorization.from as Address;
  const signature = paid.signature as Hex;
  const check = () => {
    const hash = hashTypedData(transferTypedData(quote, authorization));
    return checkPlainSignature({ address, hash, signature });
  };
  if ((await gateway.freeWork.run(client, check)) === "signed") return address;
  const message =
    `The payment is not signed by the key of ${address}. A wallet that is a contract cannot pay by x402: make an API key ` +
    "with POST /api/v1/keys, and pay from the wallet as GET /api/v1/contracts says.";
  return fail("invalid_signature", message);
}

/** Throws unless the relay made the payment for this request. */
function requireOurs({ serves, state, reason, id }: RelayedPayment, payer: Address): void {
  if (state === "failed" || state === "expired") fail("payment_refused", reason ?? `Its time has passed. ${see(id)}`);
  if (serves) return;
  const message = `This payment is for another request, or was made without this gateway. When it is credited, ${inBalance(payer)}.`;
  fail("idempotency_mismatch", `${message} ${see(id)}`);
}

/** A nonce pays once. Throws if the relay has a payment of another amount with it. */
function requireValue({ amount_token: made, id }: Relayed, amountToken: bigint): void {
  if (BigInt(made) === amountToken) return;
  const [has, is] = [BigInt(made), amountToken].map((token) => formatDecimal(token, 6));
  fail("payment_refused", `This payment is $${is}. The relay has one of $${has} with the same nonce. ${see(id)}`);
}

/**
 * Waits until the payment is on the chain, and either the balance covers the request or the credit is in it: then the
 * reserve decides. Throws 503 after a while, and when the client leaves: the dollars are credited all the same.
 */
async function awaitCredit(
  gateway: Gateway,
  relay: RelayClient,
  waiting: {
    payment: Relayed;
    credential: VerifiedCredential;
    neededNanoUsd: NanoUsd;
    at: number;
    endsAt: number;
    client: string | undefined;
    clientGone: AbortSignal | null;
  },
): Promise<Relayed> {
  const { credential, neededNanoUsd, at, client, clientGone, endsAt } = waiting;
  const { clock, timers, ledger } = gateway.environment;
  let { payment } = waiting;
  let wasCredited = false;
  for (;;) {
    payment = await withCredit(gateway, payment);
    const { state, transaction, id } = payment;
    if (state === "failed" || state === "expired") requireOurs({ ...payment, serves: true }, credential.subject);
    const { availableNanoUsd } = await ledger.read(credential.partition, { type: "balance", at });
    const isMade = state === "confirmed" || state === "credited";
    if (isMade && ((availableNanoUsd ?? 0) >= neededNanoUsd || wasCredited)) return payment;
    // The account may hear of it a moment after the chain's partition.
    wasCredited = state === "credited";
    if (clientGone?.aborted === true || clock.now() >= at + CREDIT_WAIT.mostMs) {
      const where = transaction === null ? "" : ` Its transaction is ${transaction}.`;
      const message = `Your payment is on its way, and not in the balance yet.${where} Send the same request with the same payment again until ${new Date(endsAt).toISOString()}: it pays once. After that ${inBalance(credential.subject)}.`;
      fail("chain_unavailable", `${message} ${see(id)}`, { retryAfterS: 5 });
    }
    await pause(timers, CREDIT_WAIT.eachMs, clientGone ?? undefined);
    // A relay that is busy for a moment is asked again.
    payment = await relay.find(id, client).catch(() => payment);
  }
}

/**
 * Throws unless the account's key of paid requests allows this one, or can be made. Nothing is written for a signer
 * before a payment is made, because anyone can sign. The figures of the key's limits are told to nobody.
 */
async function requireKey({ credentials, environment }: Gateway, payer: Address, needs: KeyNeeds): Promise<void> {
  const { at } = needs;
  const { credential, keyId } = credentials.ofPayments(payer);
  const keys = await environment.ledger.read(credential.partition, { type: "keys", at });
  const made = keys.find(({ key }) => key.id === keyId);
  const isUsable =
    made === undefined ? keys.length < MAX_KEYS_PER_ACCOUNT : made.key.digest === credential.payer.digest;
  if (!isUsable) noKey("the payment was not sent");
  if (made === undefined || refusedByKey(made, needs) === null) return;
  const message =
    "This request is above a limit, or outside the models, of the account's key `x402 payments`, so the payment was not " +
    `sent now. The wallet changes them: POST /api/v1/keys/{id}/limit. If it was made before, ${inBalance(payer)}.`;
  fail("payment_refused", message);
}

/** Makes the key of an account's paid requests. Its text is told nobody. The account's owner can revoke it. */
async function makeKey(gateway: Gateway, payer: Address, at: number): Promise<void> {
  const { credential, label, keyId } = gateway.credentials.ofPayments(payer);
  const { status } = await gateway.environment.ledger.run(() =>
    send(credential.partition, {
      ...{ type: "createKey", at, keyId, digest: credential.payer.digest, label, name: "x402 payments" },
      ...{ window: "lifetime", limitNanoUsd: null, expiresAt: null, nonce: keyId, nonceExpiresAt: at },
    }),
  );
  if (status !== "created") noKey(inBalance(payer));
}

function noKey(consequence: string): never {
  const message = `This account can have no key for paid requests: ${consequence}. Revoke one, or send a key of yours too.`;
  return fail("payment_refused", message);
}

/** Refuses a payment that does not cover the request alone. What is in its signer's balance is told to nobody. */
export function requireCovered({ paidNanoUsd }: PaidRequest, neededNanoUsd: NanoUsd): void {
  if (paidNanoUsd >= neededNanoUsd) return;
  const [paid, needed] = [paidNanoUsd, neededNanoUsd].map(formatUsd);
  const message =
    `This request could cost $${needed}, and the payment is $${paid}, so it was not sent. Pay $${needed}, lower ` +
    "`max_tokens`, or send an API key of the payer's too: then the balance counts.";
  fail("payment_refused", message, { metadata: { needed_nano_usd: neededNanoUsd } });
}

function inBalance(payer: Address): string {
  return `its dollars are in the balance of ${payer}, which an API key of POST /api/v1/keys spends`;
}

function see(id: string): string {
  return `See GET /api/v1/top-up/${id}.`;
}
