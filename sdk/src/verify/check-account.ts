import { formatUsd, NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import { leafOf, verifyUse } from "@inference/protocol/use-leaf";
import { DAY_MS } from "@inference/protocol/window";
import { type Hex, sha256, toBytes } from "viem";
import type { Batch, ListedReceipt } from "../spending.ts";
import type { Evidence } from "./evidence.ts";
import { type Found, failed, forAddress, forFirstBlock, passed, skipped } from "./found.ts";
import { settledUseOf } from "./settled-use.ts";
import { costOf } from "./usage-cost.ts";

/**
 * The checks of an account. Each judges the evidence and nothing else.
 *
 * @param own The address that whoever judges a bundle trusts. Absent: it is not a bundle, or none was named.
 */
export function checkContract(evidence: Evidence, own?: Hex): Found {
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

/** A receipt names the digest of its prices: nobody can change them later. */
export function checkPrices({ said: { prices } }: Evidence): Found {
  const published = Object.entries(prices);
  const kept = published.flatMap(([id, text]) => (text === null ? [] : [{ id, text }]));
  const changed = kept.find(({ id, text }) => sha256(toBytes(text)).slice(2, 2 + SNAPSHOT_DIGITS) !== id);
  if (changed !== undefined) return failed(`the published prices are not those of the snapshot ${changed.id}`);
  if (kept.length < published.length) {
    const gone = published.length - kept.length;
    return skipped(`${gone} of ${published.length} snapshots that receipts name are not published`);
  }
  return passed(`${kept.length} snapshots`, ["the gateway, that receipts name the prices of their time"]);
}

/** A snapshot's id is the first half of the SHA-256 of its text, in hex. */
const SNAPSHOT_DIGITS = 32;

export function checkUsage({ said: { receipts, prices } }: Evidence): Found {
  const trusts = ["the provider, for its count of tokens, and the gateway, which tells it"];
  const pricingOf = openPrices(prices);
  const charged = receipts.filter(({ charge_nano_usd: charge }) => charge > 0);
  const onUsage = charged.filter(({ basis }) => basis === "usage");
  let unpriced = 0;
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

/** Receipts that the gateway may have forgotten are skipped. A later one that is missing is a failure. */
export function checkReceipts(evidence: Evidence): Found {
  const { receipts, totals, credits } = evidence.said;
  const ids = new Set(receipts.map(({ id }) => id));
  if (ids.size !== receipts.length) return failed("a receipt is in the list twice");
  const { total_usage_nano_usd: used, total_credits_nano_usd: total } = credits;
  const { reserved_nano_usd: reserved, available_nano_usd: available } = credits;
  if (available + reserved + used !== total) return failed("spent, reserved and available do not come to the credits");
  const spent = sumOf(Object.values(totals));
  if (spent !== used) return failed(`the days come to $${formatUsd(spent)}, and $${formatUsd(used)} was spent`);
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
  const found = `${receipts.length} receipts come to $${formatUsd(used - forgotten)}`;
  if (forgotten > 0) return skipped(`${found}; receipts of $${formatUsd(forgotten)} are not kept any more`);
  return passed(found);
}

/** Whether the gateway says that it keeps no receipts of this UTC day any more, or not all. */
function mayBeForgotten({ madeAt, said: { retentionDays } }: Evidence, dayMs: number): boolean {
  return dayMs < Date.parse(madeAt) - retentionDays * DAY_MS;
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

export function checkLeaves(evidence: Evidence): Found {
  const { account, contract, said, chain } = evidence;
  const receipts = new Map(said.receipts.map((receipt) => [receipt.id, receipt]));
  const settlement = { chainId: contract.chainId, address: contract.address };
  const seen = new Set<string>();
  let open = 0;
  let forgotten = 0;
  for (const batch of said.batches) {
    const root = rootOf(evidence, batch);
    for (const leaf of batch.leaves ?? []) {
      const receipt = receipts.get(leaf.id);
      if (receipt === undefined) {
        if (!mayBeForgotten(evidence, leaf.day_served * DAY_MS)) {
          return failed(`batch ${batch.id} has the use ${leaf.id}, which has no receipt`);
        }
        forgotten += 1;
        continue;
      }
      if (seen.has(leaf.id)) return failed(`the use ${leaf.id} is in two batches, or twice in one`);
      seen.add(leaf.id);
      if (receipt.charge_nano_usd !== leaf.charge_nano_usd) return failed(`${leaf.id} has two charges`);
      const use = settledUseOf(receipt, account, batch.id);
      if (leafOf(settlement, use) !== leaf.leaf) return failed(`the leaf of ${leaf.id} is of another use`);
      if (BigInt(root) === 0n && batch.status !== "final") open += 1;
      else if (!verifyUse(root, settlement, use, leaf.proof as Hex[])) {
        return failed(`the proof of ${leaf.id} does not lead to the root of batch ${batch.id}`);
      }
    }
  }
  const trusts = [`a node that ${chain.node} chose, for the roots`, ...forAddress(evidence)];
  const chainAtMs = Date.parse(chain.at);
  const late = leftOut(evidence, (batch) => BigInt(rootOf(evidence, batch)) !== 0n).find(({ day }) => {
    const [first, last] = [chainAtMs - (MAX_WAITING_DAYS + 1) * DAY_MS, chainAtMs + DAY_MS];
    return !(Date.parse(day) >= first && Date.parse(day) <= last);
  });
  if (late !== undefined) {
    const detail = `$${formatUsd(late.nanoUsd)} of ${late.day} is in no final batch, and the chain is at ${chain.at}`;
    return failed(`${detail}: uses wait for at most ${MAX_WAITING_DAYS} days`, trusts);
  }
  const waiting = sumOf(leftOut(evidence, () => true).map(({ nanoUsd }) => nanoUsd));
  const rest = waiting === 0 ? "" : `; $${formatUsd(waiting)} waits for a batch`;
  if (forgotten > 0) return skipped(`the receipts of ${forgotten} uses are not kept any more${rest}`, trusts);
  if (seen.size === 0) return skipped(`no use is in a batch yet${rest}`, trusts);
  if (open === seen.size) return skipped(`${open} uses are in batches that are not final yet${rest}`, trusts);
  return passed(`${seen.size - open} uses; ${open} are in batches that are not final yet${rest}`, trusts);
}

/**
 * What was charged on a UTC day and is in none of these batches. It goes by the totals of days: receipts may be
 * forgotten.
 */
function leftOut({ said }: Evidence, isCounted: (batch: Batch) => boolean): { day: string; nanoUsd: number }[] {
  const batched = new Map<number, number>();
  for (const batch of said.batches.filter(isCounted)) {
    for (const { day_served: day, charge_nano_usd: charge } of batch.leaves ?? []) {
      batched.set(day, (batched.get(day) ?? 0) + charge);
    }
  }
  return Object.entries(said.totals).flatMap(([day, total]) => {
    const nanoUsd = total - (batched.get(Date.parse(day) / DAY_MS) ?? 0);
    return nanoUsd > 0 ? { day, nanoUsd } : [];
  });
}

function rootOf({ chain }: Evidence, batch: Batch): Hex {
  return chain.roots[batch.id] ?? ZERO;
}

/**
 * A use is in a batch within minutes, and in a final block within the hour. The operator or the chain may be away for
 * days, and the contract takes an agent's serves for three; what waits longer is not on its way any more.
 */
const MAX_WAITING_DAYS = 7;
const ZERO: Hex = `0x${"0".repeat(64)}`;

/** Completeness: nothing was debited on chain that the gateway does not show as uses, and the reverse. */
export function checkDebits(evidence: Evidence): Found {
  const { said, chain } = evidence;
  const trusts = [`a node that ${chain.node} chose, for the debits`, ...forAddress(evidence), ...forFirstBlock(chain)];
  const debited = new Map<number, bigint>();
  for (const { batch, amountNanoUsd } of chain.debits) {
    debited.set(batch, (debited.get(batch) ?? 0n) + BigInt(amountNanoUsd));
  }
  const shown = new Map(said.batches.map((batch) => [batch.id, batch]));
  let open = 0;
  for (const id of new Set([...debited.keys(), ...shown.keys()])) {
    const onChain = debited.get(id) ?? 0n;
    const batch = shown.get(id);
    if (!debited.has(id) && batch?.status !== "final") {
      open += 1;
      continue;
    }
    const uses = chargesIn(batch);
    if (uses !== onChain) {
      const [here, there] = [formatUsd(Number(uses)), formatUsd(Number(onChain))];
      return failed(`batch ${id}: its uses come to $${here}, and its debit on chain to $${there}`, trusts);
    }
  }
  if (debited.size === 0) return skipped(`nothing is debited in a final block yet; ${open} batches are open`, trusts);
  return passed(`${debited.size} batches; ${open} are not final yet`, trusts);
}

function chargesIn(batch: Batch | undefined): bigint {
  return (batch?.leaves ?? []).reduce((sum, { charge_nano_usd: charge }) => sum + BigInt(charge), 0n);
}

export function checkBalance(evidence: Evidence): Found {
  const { said, chain } = evidence;
  const { credits } = said;
  const node = `a node that ${chain.node} chose, for the account's events and credit`;
  const trusts = [node, ...forAddress(evidence), ...forFirstBlock(chain)];
  const activated = chain.activations.reduce((sum, { amountToken }) => sum + BigInt(amountToken), 0n);
  const activatedNanoUsd = activated * NANO_USD_PER_TOKEN_UNIT;
  const debitedNanoUsd = chain.debits.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
  if (activatedNanoUsd - debitedNanoUsd !== BigInt(chain.creditNanoUsd)) {
    return failed("on chain, activations less debits are not the credit: the node leaves events out", trusts);
  }
  const here = BigInt(credits.total_credits_nano_usd) + BigInt(credits.debited_elsewhere_nano_usd);
  if (here !== activatedNanoUsd) {
    const [said, onChain] = [formatUsd(Number(here)), formatUsd(Number(activatedNanoUsd))];
    return failed(`the gateway credits $${said}, and $${onChain} was activated up to block ${chain.block}`, trusts);
  }
  const shown = new Set(said.batches.filter(({ leaves }) => (leaves ?? []).length > 0).map(({ id }) => id));
  const unshown = chain.debits.filter(({ batch }) => !shown.has(batch));
  const elsewhere = unshown.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
  if (BigInt(credits.debited_elsewhere_nano_usd) > elsewhere) {
    return failed("the gateway says that more was debited elsewhere than the chain has", trusts);
  }
  if (debitedNanoUsd > BigInt(credits.total_usage_nano_usd) + BigInt(credits.debited_elsewhere_nano_usd)) {
    return failed("more was debited on chain than the gateway says was spent", trusts);
  }
  return passed(
    `$${formatUsd(Number(activatedNanoUsd))} activated, $${formatUsd(Number(debitedNanoUsd))} debited`,
    trusts,
  );
}
