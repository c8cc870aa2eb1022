import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { fail } from "@inference/protocol/errors";
import { formatDecimal, stablecoinUnits } from "@inference/protocol/money";
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

export type At = { now: number; head: bigint };
/** A payment that can be stored. `balance`: what its payer has for it and his other ones, in units of the stablecoin. */
export type Acceptable = { row: RelayRow; balance: bigint };

export const HAS_CODE =
  "The payer's address has code, which could refuse the payment in its block. The relay sends for plain keys only. " +
  "Such a wallet sends its transaction itself.";

export const IN_THE_DOOR = "Somebody executed it without the door, so its dollars wait there for a proof (`claim`).";

/** Checks the terms of a top-up that is new to the relay. Throws `GatewayError`, as the others here. */
export function topUpRow(chain: RelayChain, quote: RelayQuote, body: TopUpBody, at: At): RelayRow {
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
  if (quote.method === "permit" && (body.permit === undefined || body.permit.signature.length !== 132)) {
    refuse("On this chain `permit` is needed: the stablecoin's permit, with a signature of 65 bytes.", "permit");
  }
  return newRow(chain, at, {
    ...{ id: topUpId(terms), kind: "top-up", owner: terms.owner, account: terms.account, fingerprint: null },
    ...{ amount_token: terms.amount, fee_token: terms.fee, body: JSON.stringify(body), expiresAt: terms.deadline },
    value: String(topUpValue(quote, terms)),
  });
}

/** The same for an x402 payment. */
export function paymentRow(chain: RelayChain, quote: RelayQuote, body: PaymentBody, at: At): RelayRow {
  const { authorization, fingerprint } = body;
  const { from, value, validAfter, validBefore } = authorization;
  const unit = stablecoinUnits(quote.stablecoin.decimals);
  const amount = BigInt(value) / unit;
  if (amount * unit !== BigInt(value) || amount >= 10n ** 15n) {
    refuse(`The value must be a multiple of ${unit} and below a billion dollars.`, "value");
  }
  const least = quote.x402?.least_token ?? "0";
  if (amount < BigInt(least))
    refuse(`The payment is ${dollars(amount)}. It must be at least ${dollars(least)}.`, "value");
  if (BigInt(validAfter) > BigInt(seconds(at))) refuse("The payment is not valid yet.", "validAfter");
  const expiresAt = BigInt(validBefore) < 2n ** 48n ? Number(validBefore) : Number.MAX_SAFE_INTEGER;
  return newRow(chain, at, {
    ...{ id: paymentId(chain.chainId, authorization), kind: "x402", owner: from, account: from, fingerprint, value },
    ...{ amount_token: String(amount), fee_token: "0", body: JSON.stringify(body), expiresAt },
  });
}

/** Checks a payment on the chain, with six requests to the node at most. */
export async function checkOnChain(
  chain: RelayChain,
  row: RelayRow,
  { at, quote }: { at: At; quote: RelayQuote },
): Promise<Acceptable> {
  const found = await look(chain, row, at.head);
  if (found.outcome === "over") return refuse(found.reason, null);
  if (found.outcome === "left") return fail("payment_refused", found.reason);
  if (found.outcome === "unknown") return fail("payment_refused", usedBefore(row));
  // The chain takes a claim after any deadline. The relay tries until a day after this one.
  const expiresAt = Math.max(seconds(at), Math.min(row.expiresAt, seconds(at) + quote.longest_s));
  const asCredit = { row: { ...row, value: "0", fingerprint: null, expiresAt }, balance: 0n };
  if (found.outcome === "made") {
    const { transaction, block } = found;
    const row: RelayRow = { ...asCredit.row, state: "confirmed", transaction, block: block ?? Number(at.head) };
    return { ...asCredit, row };
  }
  if (found.outcome === "wait") return { ...asCredit, row: { ...asCredit.row, waits_for: found.why } };
  if (found.isClaim) {
    await simulate(chain, found, at.head);
    return asCredit;
  }
  checkDeadline(row.expiresAt, quote, at);
  const [balance, isCode] = await Promise.all([
    balanceOf(chain, quote, row.owner, at.head),
    hasCode(chain, row.owner, at.head),
  ]);
  const { decimals, name } = quote.stablecoin;
  if (balance < BigInt(row.value)) {
    const [has, needs] = [formatDecimal(balance, decimals), formatDecimal(BigInt(row.value), decimals)];
    refuse(`${row.owner} has ${has} ${name} on chain ${chain.chainId} and needs ${needs}.`, null);
  }
  if (isCode) refuse(HAS_CODE, null);
  await simulate(chain, found, at.head);
  // Its nonce is unused at this block, so its events come later, or after a reorganization.
  return { row: { ...row, fromBlock: firstBlockFrom(chain, at.head) }, balance };
}

export function firstBlockFrom({ startBlock, confirmations }: RelayChain, head: bigint): number {
  return Math.max(startBlock, Number(head) - confirmations);
}

export function balanceOf(chain: RelayChain, quote: RelayQuote, owner: string, blockNumber: bigint): Promise<bigint> {
  const stablecoin = { address: quote.stablecoin.address as Address, abi: stablecoinAbi } as const;
  return chain.reader.readContract({ ...stablecoin, functionName: "balanceOf", args: [owner as Address], blockNumber });
}

/** A contract, or a key that lent its address to code (EIP-7702). The stablecoin asks the code whether it signed. */
export async function hasCode({ reader }: RelayChain, owner: string, blockNumber: bigint): Promise<boolean> {
  return ((await reader.getCode({ address: owner as Address, blockNumber })) ?? "0x") !== "0x";
}

export function usedBefore({ fromBlock }: Pick<RelayRow, "fromBlock">): string {
  return `This authorization was used. The relay finds no event that says for what from block ${fromBlock} on. It sends nothing. Send it again in a minute, or see the chain before you sign another one.`;
}

/** Throws for a call that would revert. */
async function simulate(chain: RelayChain, { call, isClaim }: Due, blockNumber: bigint): Promise<void> {
  const value = await chain.messageFeeWei(blockNumber);
  try {
    await chain.reader.simulateContract({ ...call, value, account: chain.writer.account.address, blockNumber });
  } catch (error) {
    const reason = revertOf(error);
    // A relay without coins cannot simulate a call with a value. The payment waits until it has some.
    if (reason === undefined && /insufficient|exceeds the balance/i.test(String(error))) return;
    if (reason === undefined) throw error;
    const why = `The payment would fail: ${reason || reasonOf(error)}.`;
    if (isClaim) fail("payment_refused", `${why} ${IN_THE_DOOR} Ask the operator.`);
    refuse(why, null);
  }
}

function newRow(
  { chainId, startBlock }: RelayChain,
  { head }: At,
  row: Pick<
    RelayRow,
    "id" | "kind" | "owner" | "account" | "amount_token" | "fee_token" | "body" | "expiresAt" | "value" | "fingerprint"
  >,
): RelayRow {
  if (!isHex(row.id)) throw new TypeError("an id is hex");
  return {
    ...row,
    ...{ owner: row.owner.toLowerCase(), account: row.account.toLowerCase(), chain_id: chainId, state: "accepted" },
    ...{ transaction: null, block: null, waits_for: null, reason: null, hashes: [], nonce: null, sentAt: null },
    ...{ feeWei: "0", nextAt: 0, failingSince: null, reverts: 0, isOver: false },
    fromBlock: Math.max(startBlock, Number(head) - LOOK_BACK),
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

export function refuse(message: string, param: string | null): never {
  return fail("payment_refused", `${message} Nothing was sent or paid.`, { param });
}
