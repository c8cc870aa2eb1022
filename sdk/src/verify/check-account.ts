import { formatUsd } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import { DAY_MS } from "@inference/protocol/window";
import { sha256, toBytes } from "viem";
import type { ListedReceipt } from "../spending.ts";
import type { Evidence } from "./evidence.ts";
import { type Found, failed, forAddress, forChain, NOT_WHOLE, passed, skipped } from "./found.ts";
import type { Tools } from "./statements.ts";
import { costOf, quoteTokens } from "./usage-cost.ts";

/** The checks of an account. Each judges the evidence and nothing else. */
export function checkContract(evidence: Evidence, { own }: Pick<Tools, "own">): Found {
  const { chainId, address, named, isPinned } = evidence.contract;
  if (!isPinned) {
    const detail = `compare it with an address that you trust: ${address} was asked on chain ${chainId}`;
    return skipped(detail, forAddress(evidence));
  }
  if (own !== undefined && own.toLowerCase() !== address.toLowerCase()) {
    return failed(`you named ${own} on chain ${chainId}, and this is of ${address}`);
  }
  if (named?.toLowerCase() !== address.toLowerCase()) {
    return failed(`you named ${address} on chain ${chainId}, and the gateway names ${named}`);
  }
  return passed(`${address} on chain ${chainId}, as you named it`);
}

/** A receipt and a leaf name the digest of their prices: nobody can change them later. */
export function checkPrices({ said: { prices, uses, receipts } }: Evidence): Found {
  const charged = receipts.filter(({ charge_nano_usd: charge }) => charge > 0);
  const named = new Set([...uses, ...charged].map(({ price_snapshot: id }) => id ?? ""));
  const kept = [...named].flatMap((id) => {
    const text = ownValue(prices, id) ?? null;
    return text === null ? [] : [{ id, text }];
  });
  const changed = kept.find(({ id, text }) => sha256(toBytes(text)).slice(2, 2 + SNAPSHOT_DIGITS) !== id);
  if (changed !== undefined) return failed(`the published prices are not those of the snapshot ${changed.id}`);
  if (kept.length < named.size) {
    const gone = named.size - kept.length;
    return skipped(`${gone} of ${named.size} snapshots that uses name are not published`);
  }
  return passed(`${kept.length === 1 ? "1 snapshot" : `${kept.length} snapshots`}`, [
    "the gateway, that uses name the prices of their time",
  ]);
}

/** A snapshot's id is the first half of the SHA-256 of its text, in hex. */
const SNAPSHOT_DIGITS = 32;

export function checkUsage({ said: { receipts, prices } }: Evidence): Found {
  const trusts = ["the provider, for its count of tokens, and the gateway, which tells it"];
  const pricingOf = openPrices(prices);
  const charged = receipts.filter(({ charge_nano_usd: charge }) => charge > 0);
  const onUsage = charged.filter(({ basis }) => basis === "usage");
  let unpriced = 0;
  const above = charged.find(({ charge_nano_usd: charge, held_nano_usd: held }) => charge > held);
  if (above !== undefined) return failed(`${above.id} was charged more than was held for it`, trusts);
  const flat = charged.find((each) => each.basis === "flat" && isPricedByTokens(pricingOf(each)));
  if (flat !== undefined)
    return failed(`${flat.id} was charged without its tokens, by which its model is priced`, trusts);
  for (const receipt of onUsage) {
    const { id, charge_nano_usd: charge, held_nano_usd: held, price_snapshot: snapshot, model } = receipt;
    if (ownValue(prices, snapshot ?? "") == null) {
      unpriced += 1;
      continue;
    }
    const pricing = pricingOf(receipt);
    const cost = pricing === undefined ? undefined : costOf(receipt, pricing);
    if (cost === undefined) return failed(`${id} rests on a usage of ${model}, which its prices have no cost for`);
    if (charge !== Math.min(cost, held)) {
      return failed(`${id} cost $${formatUsd(charge)}, and its usage $${formatUsd(cost)}`);
    }
  }
  const found = `${onUsage.length - unpriced} of ${charged.length} charges`;
  if (unpriced > 0) return skipped(`${found}; the prices of ${unpriced} others are not published`, trusts);
  const others = charged.filter(({ basis }) => basis !== "usage");
  if (others.length === 0) return passed(found, trusts);
  const rest = formatUsd(sumOf(others.map(({ charge_nano_usd: charge }) => charge)));
  return skipped(`${found}; ${others.length} others, of $${rest}, have no count of tokens`, trusts);
}

function isPricedByTokens(pricing: Readonly<Record<string, unknown>> | undefined): boolean {
  return pricing !== undefined && quoteTokens({ prompt: 0, completion: 0 }, pricing) !== undefined;
}

/** Finds the published price of a receipt's model. Throws if a text is no list of prices. */
function openPrices(prices: Evidence["said"]["prices"]) {
  type Listed = { data: { id: string; pricing: Record<string, unknown> }[] };
  const read = new Map(
    Object.entries(prices).map(([id, text]) => {
      const { data } = JSON.parse(text ?? '{"data":[]}') as Listed;
      return [id, new Map(data.map(({ id, pricing }) => [id, pricing]))];
    }),
  );
  return ({ price_snapshot: id, model }: ListedReceipt) => read.get(id ?? "")?.get(model ?? "");
}

/** Skips receipts that the gateway may have deleted. A missing later receipt is a failure. */
export function checkReceipts(evidence: Evidence): Found {
  const { receipts, balance } = evidence.said;
  const ids = new Set(receipts.map(({ id }) => id));
  if (ids.size !== receipts.length) return failed("a receipt is in the list twice");
  if (balance === null) return skipped(NOT_WHOLE);
  const { totals, credits } = balance;
  const { total_usage_nano_usd: used, total_credits_nano_usd: total } = credits;
  const { reserved_nano_usd: reserved, available_nano_usd: available } = credits;
  if (available + reserved + used !== total) return failed("spent, reserved and available do not come to the credits");
  const spent = sumOf(Object.values(totals));
  if (spent > used || used > spent + credits.taken_over_nano_usd) {
    return failed(`the days come to $${formatUsd(spent)}, and $${formatUsd(used)} was spent`);
  }
  const byDay = Map.groupBy(receipts, ({ created_at: at }) => at.slice(0, 10));
  let forgotten = 0;
  for (const day of new Set([...byDay.keys(), ...Object.keys(totals)])) {
    const sum = sumOf((byDay.get(day) ?? []).map(({ charge_nano_usd: charge }) => charge));
    const missing = (ownValue(totals, day) ?? 0) - sum;
    if (missing < 0 || (missing > 0 && !mayBeForgotten(evidence, Date.parse(day)))) {
      return failed(`the receipts of ${day} come to $${formatUsd(sum)}, and its total is $${formatUsd(sum + missing)}`);
    }
    forgotten += missing;
  }
  const found = `${receipts.length} receipts come to $${formatUsd(spent - forgotten)}`;
  if (forgotten > 0) return skipped(`${found}; receipts of $${formatUsd(forgotten)} are not kept any more`);
  return passed(found);
}

/** Whether the gateway may have deleted receipts of this UTC day, by its own retention. */
export function mayBeForgotten({ madeAt, said: { retentionDays } }: Evidence, dayMs: number): boolean {
  return dayMs < Date.parse(madeAt) - retentionDays * DAY_MS;
}

export function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

export function checkBalance(evidence: Evidence): Found {
  const { said, chain } = evidence;
  if (said.balance === null || chain === null) return skipped(NOT_WHOLE);
  const { credits } = said.balance;
  const trusts = forChain(evidence);
  const [activated, debited] = [Number(chain.activatedNanoUsd), Number(chain.debitedNanoUsd)];
  const { total_credits_nano_usd: total, total_usage_nano_usd: used } = credits;
  if (total !== activated) {
    const detail = `the gateway credits $${formatUsd(total)}, and $${formatUsd(activated)} was activated`;
    return failed(`${detail} up to block ${chain.block}`, trusts);
  }
  if (debited > used) return failed("more was debited on chain than the gateway says was spent", trusts);
  return passed(`$${formatUsd(activated)} activated, $${formatUsd(debited)} debited`, trusts);
}

/**
 * Judged by the chain's clock and the day of a use's service, because a gateway may say that an old use is new.
 * A statement that owes a cent is due a day after its oldest use, a smaller one after 30 days; the operator or the
 * chain may be away for some days more.
 */
export function checkWaiting(evidence: Evidence): Found {
  const { said, chain } = evidence;
  if (said.balance === null || chain === null) return skipped(NOT_WHOLE);
  const trusts = forChain(evidence);
  const { credits, waitingFor } = said.balance;
  const debited = Number(chain.debitedNanoUsd);
  const waiting = credits.total_usage_nano_usd - debited;
  const oldest = said.uses.find(({ ends_at_nano_usd: end }) => end > debited);
  if (waiting <= 0 || oldest === undefined) return passed("nothing waits", trusts);
  const days = waiting >= CENT ? MAX_WAITING_DAYS : MAX_DUST_DAYS;
  const [now, served] = [Date.parse(chain.at), Date.parse(oldest.day_served)];
  const reason = waitingFor === null ? "" : `; the gateway says: ${waitingFor}`;
  const found = `$${formatUsd(waiting)} is not final on chain, the oldest use of ${oldest.day_served}${reason}`;
  if (!(now < served + (days + 1) * DAY_MS && served < now + DAY_MS)) {
    return failed(`${found}: a use waits for at most ${days} days, and the chain is at ${chain.at}`, trusts);
  }
  return passed(found, trusts);
}

const CENT = 10_000_000;
const MAX_WAITING_DAYS = 7;
export const MAX_DUST_DAYS = 33;
