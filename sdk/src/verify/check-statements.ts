import { formatUsd } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import type { ListedReceipt, StatementUse } from "../spending.ts";
import { mayBeForgotten, sumOf } from "./check-account.ts";
import type { Evidence } from "./evidence.ts";
import { type Found, failed, forChain, NO_NODE, passed, skipped } from "./found.ts";
import { endOf, isInChunk, startOf, type Tools } from "./statements.ts";

/** Each record begins where the one before it ended, up to what the chain debited, and is on chain. */
export function checkDebits(evidence: Evidence, { keccak }: Pick<Tools, "keccak">): Found {
  const { account, period, said, chain } = evidence;
  for (const [index, record] of said.records.entries()) {
    const before = said.records[index - 1];
    const begins = record.before_nano_usd;
    const isNext = begins === endOf(before) || (before === undefined && period !== null);
    if (!isNext || record.amount_nano_usd <= 0) {
      return failed(
        `a record begins at $${formatUsd(begins)}, and the one before it ends at $${formatUsd(endOf(before))}`,
      );
    }
    if (!isInChunk(record, account, keccak)) return failed(`the record from $${formatUsd(begins)} is not in its chunk`);
  }
  if (chain === null) return skipped(NO_NODE);
  const trusts = forChain(evidence);
  const missing = said.records.find(({ chunk }) => (ownValue(chain.blocks, chunk.root) ?? 0) === 0);
  if (missing !== undefined) return failed(`the contract has no chunk ${missing.chunk.root}`, trusts);
  const [end, debited] = [endOf(said.records.at(-1)), Number(chain.debitedNanoUsd)];
  if (period === null ? end !== debited : end > debited) {
    return failed(`the records end at $${formatUsd(end)}, and the chain debited $${formatUsd(debited)}`, trusts);
  }
  const sum = sumOf(said.records.map(({ amount_nano_usd: amount }) => amount));
  return passed(`${said.records.length} records of $${formatUsd(sum)}`, trusts);
}

/** The leaves under each root fill it without gap or overlap, and each is what its receipt says. */
export function checkLeaves(evidence: Evidence, tools: Pick<Tools, "statements">): Found {
  const { period, said } = evidence;
  const statements = tools.statements();
  const wrong = findOverlap(said.uses) ?? findDifference(evidence);
  if (wrong !== undefined) return failed(wrong);
  const unproven = statements.filter(({ uses }) => uses === null);
  if (unproven.length > 0) {
    const sum = sumOf(unproven.map(({ beforeNanoUsd, paidToNanoUsd }) => paidToNanoUsd - beforeNanoUsd));
    const from = formatUsd(unproven[0]?.beforeNanoUsd ?? 0);
    const detail = `unproven, $${formatUsd(sum)}: no listed uses make the root of the statement from $${from}`;
    return failed(`${detail}. Ask the operator for its uses, or to make it good with activateFor`);
  }
  const paid = endOf(said.records.at(-1));
  const rest = said.uses.filter(({ ends_at_nano_usd: end }) => end > paid);
  const used = said.balance?.credits.total_usage_nano_usd;
  const gap = period === null ? findGap(rest, paid, used ?? paid) : undefined;
  if (gap !== undefined) return failed(gap);
  const waiting = rest.length === 0 ? "" : `; ${rest.length} are not final yet`;
  const found = `${said.uses.length - rest.length} uses in ${statements.length} statements${waiting}`;
  const known = new Set(said.receipts.map(({ id }) => id));
  const forgotten = said.uses.filter(({ id }) => !known.has(id));
  if (forgotten.length === 0) return passed(found);
  const sum = formatUsd(sumOf(forgotten.map(({ charge_nano_usd: charge }) => charge)));
  return skipped(`${found}; the receipts of ${forgotten.length}, of $${sum}, are not kept any more`);
}

/** A use that begins before the one before it ends, or that is there twice. */
function findOverlap(uses: readonly StatementUse[]): string | undefined {
  const seen = new Set<string>();
  let end = 0;
  for (const use of uses) {
    if (seen.has(use.id)) return `the request ${use.id} is charged twice`;
    seen.add(use.id);
    if (use.charge_nano_usd <= 0 || startOf(use) < end) {
      return `the use ${use.id} overlaps with the one before it`;
    }
    end = use.ends_at_nano_usd;
  }
  return undefined;
}

/** A use that is not what its receipt says. */
function findDifference(evidence: Evidence): string | undefined {
  const receipts = new Map(evidence.said.receipts.map((receipt) => [receipt.id, receipt]));
  for (const use of evidence.said.uses) {
    const receipt = receipts.get(use.id);
    if (receipt === undefined) {
      if (!mayBeForgotten(evidence, Date.parse(use.day_served))) return `the use ${use.id} has no receipt`;
    } else if (!isOf(use, receipt)) return `the use ${use.id} is not what its receipt says`;
  }
  return undefined;
}

function isOf(use: StatementUse, receipt: ListedReceipt): boolean {
  return (
    use.charge_nano_usd === receipt.charge_nano_usd &&
    use.day_served === receipt.created_at.slice(0, 10) &&
    use.served_by === receipt.served_by &&
    use.offer === receipt.offer &&
    use.price_snapshot === receipt.price_snapshot
  );
}

/** A stretch that was charged and has no use. */
function findGap(uses: readonly StatementUse[], from: number, to: number): string | undefined {
  let end = from;
  for (const [index, use] of uses.entries()) {
    if (index === 0 ? startOf(use) > end : startOf(use) !== end) return `no use was charged from $${formatUsd(end)} on`;
    end = use.ends_at_nano_usd;
  }
  return end === to ? undefined : `the uses end at $${formatUsd(end)}, and $${formatUsd(to)} was spent`;
}

/** What agents served, by the leaves, is what the records say; a tenth of it came back or can be pulled. */
export function checkServed(evidence: Evidence, { statements }: Pick<Tools, "statements">): Found {
  const { period, said, chain } = evidence;
  for (const { records, uses, beforeNanoUsd, paidToNanoUsd } of statements()) {
    if (uses === null) continue;
    const isWhole = uses.at(-1)?.ends_at_nano_usd === paidToNanoUsd;
    const leaves = servedBy(uses, beforeNanoUsd);
    const paid = new Map<string, number>();
    for (const { agent, day, amount_nano_usd: amount } of records.flatMap(({ parts }) => parts)) {
      add(paid, `${agent.toLowerCase()} on ${day}`, amount);
    }
    for (const name of new Set([...leaves.keys(), ...paid.keys()])) {
      const [here, there] = [leaves.get(name) ?? 0, paid.get(name) ?? 0];
      if (there > here || (isWhole && there < here)) {
        const detail = `the uses from $${formatUsd(beforeNanoUsd)} name $${formatUsd(here)} of ${name}`;
        return failed(`${detail}, and the records $${formatUsd(there)}: a tenth of it is due back`);
      }
    }
  }
  const served = sumOf(said.records.flatMap(({ parts }) => parts.map(({ amount_nano_usd: amount }) => amount)));
  if (chain === null || period !== null) return passed(`agents served $${formatUsd(served)}`);
  const trusts = forChain(evidence);
  if (served !== Number(chain.servedNanoUsd)) {
    const there = formatUsd(Number(chain.servedNanoUsd));
    return failed(`agents served $${formatUsd(served)} by the records, and $${there} by the chain`, trusts);
  }
  const owed = Number(chain.owedBackNanoUsd);
  const back = `$${formatUsd(Math.floor(served / 10) - owed)} came back in tokens`;
  return passed(`agents served $${formatUsd(served)}; ${back}, $${formatUsd(owed)} can be pulled (payBack)`, trusts);
}

function servedBy(uses: readonly StatementUse[], before: number): Map<string, number> {
  const served = new Map<string, number>();
  for (const { served_by: by, day_served: day, ends_at_nano_usd: end, charge_nano_usd: charge } of uses) {
    if (by !== "protocol") add(served, `${by.toLowerCase()} on ${day}`, end - Math.max(before, end - charge));
  }
  return served;
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}
