import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { fail } from "@inference/protocol/errors";
import { formatDecimal } from "@inference/protocol/money";
import { paymentId, topUpId, topUpValue } from "@inference/protocol/top-up";
import type { PaymentBody, RelayQuote, TopUpBody } from "@inference/protocol/wire/top-up";
import { type Address, getAddress, isHex } from "viem";
import { reasonOf } from "../log.ts";
import { revertOf } from "../revert.ts";
import type { RelayChain } from "./relay-chain.ts";
import type { RelayRow } from "./store.ts";
import { type Due, look } from "./works.ts";

/** Blocks before the present one in which somebody else may already have sent a payment. */
const LOOK_BACK = 2_000;
/** The least time between an acceptance and the deadline, in seconds. */
const LEAST_S = 20;

type At = { now: number; head: bigint };

/**
 * Checks a top-up as far as it can be checked without a transaction, with four requests to the node at most. Throws
 * `GatewayError`.
 */
export async function acceptTopUp(chain: RelayChain, body: TopUpBody, at: At): Promise<RelayRow> {
  const quote = await chain.quote();
  const { top_up: terms } = body;
  if (getAddress(terms.feeTo) !== quote.fee_to) {
    refuse(`\`feeTo\` must be ${quote.fee_to}, the relay that GET /api/v1/top-up names.`, "feeTo");
  }
  if (BigInt(terms.fee) < BigInt(quote.fee_token)) {
    refuse(`The fee is ${dollars(terms.fee)}. It must be at least ${dollars(quote.fee_token)}.`, "fee");
  }
  if (BigInt(terms.amount) < BigInt(quote.least_token)) {
    refuse(`The amount is ${dollars(terms.amount)}. It must be at least ${dollars(quote.least_token)}.`, "amount");
  }
  checkDeadline(terms.deadline, quote, at);
  if (quote.method === "permit" && (body.permit === undefined || body.permit.signature.length !== 132)) {
    refuse("On this chain `permit` is needed: the stablecoin's permit, with a signature of 65 bytes.", "permit");
  }
  const row = newRow(chain, at, {
    ...{ id: topUpId(terms), kind: "top-up", owner: terms.owner, account: terms.account },
    ...{ amount_token: terms.amount, fee_token: terms.fee, body: JSON.stringify(body), expiresAt: terms.deadline },
  });
  return checked(chain, row, { at, quote, value: topUpValue(quote, terms) });
}

/** The same for an x402 payment. */
export async function acceptPayment(chain: RelayChain, body: PaymentBody, at: At): Promise<RelayRow> {
  const quote = await chain.quote();
  const { authorization } = body;
  const { from, to, value, validAfter, validBefore } = authorization;
  const payTo =
    quote.x402?.pay_to ?? refuse("Requests cannot be paid on this chain. See GET /api/v1/top-up.", "network");
  if (getAddress(to) !== payTo) refuse(`The payment must go to ${payTo}.`, "to");
  const unit = 10n ** BigInt(quote.stablecoin.decimals - 6);
  const amount = BigInt(value) / unit;
  if (amount * unit !== BigInt(value) || amount >= 10n ** 15n) {
    refuse(`The value must be a multiple of ${unit} and below a billion dollars.`, "value");
  }
  const least = quote.x402?.least_token ?? "0";
  if (amount < BigInt(least))
    refuse(`The payment is ${dollars(amount)}. It must be at least ${dollars(least)}.`, "value");
  if (BigInt(validAfter) > BigInt(seconds(at))) refuse("The payment is not valid yet.", "validAfter");
  const expiresAt = BigInt(validBefore) < 2n ** 48n ? Number(validBefore) : Number.MAX_SAFE_INTEGER;
  checkDeadline(expiresAt, quote, at);
  const row = newRow(chain, at, {
    ...{ id: paymentId(chain.chainId, authorization), kind: "x402", owner: from, account: from },
    ...{ amount_token: String(amount), fee_token: "0", body: JSON.stringify(body), expiresAt },
  });
  return checked(chain, row, { at, quote, value: BigInt(value) });
}

async function checked(
  chain: RelayChain,
  row: RelayRow,
  { at, quote, value }: { at: At; quote: RelayQuote; value: bigint },
): Promise<RelayRow> {
  const found = await look(chain, row, at.head);
  if (found.outcome === "over") return refuse(found.reason, null);
  if (found.outcome === "made") {
    return { ...row, state: "confirmed", transaction: found.transaction, block: found.block };
  }
  if (found.expires) {
    const stablecoin = { address: quote.stablecoin.address as Address, abi: stablecoinAbi } as const;
    const args = [row.owner as Address] as const;
    const balance = await chain.reader.readContract({ ...stablecoin, functionName: "balanceOf", args });
    const { decimals, name } = quote.stablecoin;
    if (balance < value) {
      const [has, needs] = [formatDecimal(balance, decimals), formatDecimal(value, decimals)];
      refuse(`${row.owner} has ${has} ${name} on chain ${chain.chainId} and needs ${needs}.`, null);
    }
  }
  await simulate(chain, found);
  return row;
}

/** Throws for a call that would revert. */
async function simulate(chain: RelayChain, { call, never }: Due): Promise<void> {
  const value = await chain.messageFeeWei();
  try {
    await chain.reader.simulateContract({ ...call, value, account: chain.writer.account.address });
  } catch (error) {
    const reason = revertOf(error);
    // A relay without coins cannot simulate a call with a value. The payment waits until it has some.
    if (reason === undefined && /insufficient|exceeds the balance/i.test(String(error))) return;
    if (reason === undefined) throw error;
    if (/signature|signer/i.test(reason)) {
      const message = "The signature is not the payer's for these terms, chain and contract.";
      fail("invalid_signature", message, { param: "signature" });
    }
    refuse(never.get(reason) ?? `The payment would fail: ${reason || reasonOf(error)}.`, null);
  }
}

function newRow(
  { chainId, startBlock }: RelayChain,
  { head }: At,
  row: Pick<RelayRow, "id" | "kind" | "owner" | "account" | "amount_token" | "fee_token" | "body" | "expiresAt">,
): RelayRow {
  if (!isHex(row.id)) throw new TypeError("an id is hex");
  return {
    ...row,
    ...{ owner: row.owner.toLowerCase(), account: row.account.toLowerCase(), chain_id: chainId, state: "accepted" },
    ...{
      transaction: null,
      block: null,
      waits_for: null,
      reason: null,
      hashes: [],
      sentAt: null,
      feeWei: "0",
      nextAt: 0,
    },
    ...{ fromBlock: Math.max(startBlock, Number(head) - LOOK_BACK), reverts: 0, isOver: false },
  };
}

function checkDeadline(deadline: number, { longest_s: longest }: RelayQuote, at: At): void {
  const now = seconds(at);
  if (deadline < now + LEAST_S)
    refuse("The deadline has passed, or is too near. Sign again with a later one.", "deadline");
  if (deadline > now + longest) {
    refuse(`The deadline is too far away. It may be at most ${longest} s from now. Sign again.`, "deadline");
  }
}

function seconds({ now }: At): number {
  return Math.floor(now / 1_000);
}

function dollars(amountToken: bigint | string): string {
  return `$${formatDecimal(BigInt(amountToken), 6)}`;
}

function refuse(message: string, param: string | null): never {
  return fail("payment_refused", `${message} Nothing was sent or paid.`, { param });
}
