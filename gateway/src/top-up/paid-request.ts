import { accountPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { formatUsd, type NanoUsd } from "@inference/protocol/money";
import { pause } from "@inference/protocol/timers";
import { paymentId } from "@inference/protocol/top-up";
import type { Relayed, RelayQuote } from "@inference/protocol/wire/top-up";
import type { VerifiedCredential } from "../auth/credentials.ts";
import { credentialError } from "../auth/known-credential.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";
import { presentedCredential } from "../http/credential.ts";
import { PAYMENT_SIGNATURE, readPayment, responseHeader } from "./x402.ts";

/** How long, and how often, a paid request waits for its credit. The ledger refuses one that is a minute old. */
export const CREDIT_WAIT = { mostMs: 25_000, eachMs: 500 };

/**
 * A request that carries an x402 payment. Its payer is the signer's account. The relay's check of the signature is the
 * proof of it, so nothing is looked up, stored or served before the payment is on the chain. The dollars become credit
 * as any others do, and the request then is one of that account: it holds its maximum and is settled exactly.
 */
export type PaidRequest = {
  credential: VerifiedCredential;
  /** The claim's name: one authorization serves one request. */
  id: string;
  /** Hands the payment to the relay, once. Throws if it is refused, or is in no block in time. */
  settle(neededNanoUsd: NanoUsd): Promise<void>;
  /** Throws the error of a request whose payment is on the chain, and not in the balance in time. */
  notCredited(): never;
};

/** Null for a request without a payment. Throws `payment_refused`, and 401 for a key of another account beside it. */
export async function paidRequestOf(context: GatewayContext): Promise<PaidRequest | null> {
  const header = context.req.header(PAYMENT_SIGNATURE);
  const { gateway, at, client } = context.var;
  const { relay } = gateway;
  if (header === undefined || relay === null) return null;
  const offered = (await relay.quotes(at)).find(({ x402 }) => x402 !== null);
  if (offered === undefined) return null;
  const quote: RelayQuote = offered;
  const { authorization, signature } = readPayment(header, quote);
  const payer = lowerAddress(authorization.from as `0x${string}`);
  const own = presentedCredential(context);
  if (own !== undefined && own.partition !== accountPartition(payer)) {
    const message = `This payment becomes credit of ${payer}, and the credential spends another balance. Leave one of them out.`;
    fail("payment_refused", message, { param: PAYMENT_SIGNATURE });
  }
  const credential = own ?? gateway.credentials.ofPayments(payer).credential;
  context.set("credential", credential);
  gateway.rates.account.admit(authorization.nonce, at);
  const body = { chain_id: quote.chain_id, authorization, signature };
  let settled: Promise<void> | undefined;
  let payment: Relayed | undefined;

  async function settle(neededNanoUsd: NanoUsd): Promise<void> {
    await requireEnough(gateway, credential, { at, neededNanoUsd, paidNanoUsd: paidOf(authorization.value, quote) });
    payment = await relay?.pay(body, client);
    while (payment !== undefined && isUnderWay(payment) && gateway.environment.clock.now() < at + CREDIT_WAIT.mostMs) {
      await pause(gateway.environment.timers, CREDIT_WAIT.eachMs);
      payment = await relay?.find(payment.id, client);
    }
    if (payment === undefined) return;
    context.set("paymentResponse", responseHeader(quote, payment));
    if (payment.state === "failed" || payment.state === "expired") {
      fail("payment_refused", `The payment was not made: ${payment.reason ?? "its time is over"}. Nothing was paid.`);
    }
    if (isUnderWay(payment)) notYet(payment);
    if (own === undefined) await makeKey(gateway, payer, at);
  }
  return {
    credential,
    id: paymentId(quote.chain_id, authorization),
    settle(neededNanoUsd) {
      settled ??= settle(neededNanoUsd);
      return settled;
    },
    notCredited: () => notYet(payment ?? { id: paymentId(quote.chain_id, authorization), transaction: null }),
  };
}

/** A payment that cannot pay for the request is not made. */
async function requireEnough(
  { environment }: Gateway,
  { partition, payer }: VerifiedCredential,
  { at, neededNanoUsd, paidNanoUsd }: { at: number; neededNanoUsd: NanoUsd; paidNanoUsd: bigint },
): Promise<void> {
  const [found, { availableNanoUsd }] = await Promise.all([
    environment.ledger.read(partition, { type: "credential", at, payer }),
    environment.ledger.read(partition, { type: "balance", at }),
  ]);
  // Unknown: the account's first payment makes its key.
  if ("fault" in found && found.fault !== "unknown") throw credentialError(payer, found.fault);
  const available = paidNanoUsd + BigInt(availableNanoUsd ?? 0);
  if (available >= BigInt(neededNanoUsd)) return;
  const message = `This request could cost $${formatUsd(neededNanoUsd)}. The payment and the balance are less. Nothing was paid.`;
  fail("payment_refused", message, {
    metadata: { needed_nano_usd: neededNanoUsd, available_nano_usd: availableNanoUsd ?? 0 },
  });
}

/** The key of an account's paid requests. Nobody is told its text; the account's owner sees it and can revoke it. */
async function makeKey(gateway: Gateway, payer: `0x${string}`, at: number): Promise<void> {
  const { credential, label, keyId } = gateway.credentials.ofPayments(payer);
  const { status } = await gateway.environment.ledger.run(() =>
    send(credential.partition, {
      ...{ type: "createKey", at, keyId, digest: credential.payer.digest, label, name: "x402 payments" },
      ...{ window: "lifetime", limitNanoUsd: null, expiresAt: null, nonce: keyId, nonceExpiresAt: at },
    }),
  );
  if (status === "created") return;
  const message =
    "The payment is in your balance, but this account can have no key for paid requests. Revoke a key, or send one of " +
    "yours with the request.";
  fail("invalid_api_key", message);
}

/** The error of a request whose payment is made and not credited. */
function notYet({ id, transaction }: Pick<Relayed, "id" | "transaction">): never {
  const where = transaction === null ? "" : ` Its transaction is ${transaction}.`;
  const message = `Your payment is not in the balance yet.${where} Send the same request with the same payment again: it pays once. See GET /api/v1/top-up/${id}.`;
  return fail("chain_unavailable", message, { retryAfterS: 5 });
}

function isUnderWay({ state }: Relayed): boolean {
  return state === "accepted" || state === "sent";
}

function paidOf(value: string, { stablecoin }: RelayQuote): bigint {
  return (BigInt(value) * 1_000n) / 10n ** BigInt(stablecoin.decimals - 6);
}
