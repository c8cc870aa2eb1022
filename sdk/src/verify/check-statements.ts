import { formatUsd } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import { DAY_MS } from "@inference/protocol/window";
import type { ListedReceipt, StatementUse } from "../spending.ts";
import { MAX_DUST_DAYS, mayBeForgotten, sumOf } from "./check-account.ts";
import type { Evidence } from "./evidence.ts";
import { type Found, failed, forChain, NO_NODE, passed, skipped } from "./found.ts";
import { endOf, isInChunk, type PaidStatement, startOf, type Tools } from "./statements.ts";

/** Each record begins where the one before it ended, up to what the chain debited, and is on chain. */
export function checkDebits(evidence: Evidence, { keccak }: Pick<Tools, "keccak">): Found {
  const { account, period, said, chain } = evidence;
  const forgotten = forgottenUpTo(evidence);
  for (const [index, record] of said.records.entries()) {
    const before = said.records[index - 1];
    const begins = record.before_nano_usd;
    const isNext = begins === endOf(before) || (before === undefined && period !== null);
    const isKept = begins > forgotten || begins < endOf(before);
    if ((!isNext && isKept) || record.amount_nano_usd <= 0) {
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
  if (end > debited || (period === null && end < debited && debited > forgotten)) {
    return failed(`the records end at $${formatUsd(end)}, and the chain debited $${formatUsd(debited)}`, trusts);
  }
  const sum = sumOf(said.records.map(({ amount_nano_usd: amount }) => amount));
  const found = `${said.records.length} records of $${formatUsd(sum)}`;
  if (period !== null || sum === debited) return passed(found, trusts);
  return skipped(`${found}; older ones, of $${formatUsd(debited - sum)}, are not kept any more`, trusts);
}

/**
 * The total of the account below which the gateway may have deleted uses and records. A day's uses settle until the end
 * of the next day, and the ceiling of the day before pays until 05:45 UTC: so a use may be deleted a day after a later
 * one, and a record a day before its uses.
 */
function forgottenUpTo(evidence: Evidence): number {
  const { uses, balance, records } = evidence.said;
  const isOld = (day: string, days = 1) => mayBeForgotten(evidence, Date.parse(day) - days * DAY_MS);
  const kept = uses.find(({ day_served: day }) => !isOld(day));
  const end = kept === undefined ? Number.POSITIVE_INFINITY : startOf(kept);
  // A bill has no totals of its days. A use is debited within the time that it may wait.
  if (balance === null) return Math.min(end, endOf(records.findLast(({ chunk }) => isOld(chunk.day, MAX_DUST_DAYS))));
  const spent = sumOf(Object.entries(balance.totals).map(([day, total]) => (isOld(day) ? total : 0)));
  // A takeover excuses a debit only if there is a day that old.
  return spent === 0 ? 0 : Math.min(end, spent + balance.credits.taken_over_nano_usd);
}

/** The leaves under each root fill it without gap or overlap, and each agrees with its receipt. */
export function checkLeaves(evidence: Evidence, tools: Pick<Tools, "statements">): Found {
  const { period, said, chain } = evidence;
  const statements = tools.statements();
  const wrong = findOverlap(said.uses) ?? findDifference(evidence);
  if (wrong !== undefined) return failed(wrong);
  const forgottenTo = forgottenUpTo(evidence);
  const unproven = statements.filter(({ uses }) => uses === null);
  const kept = unproven.filter((each) => each.beforeNanoUsd >= forgottenTo || isWhole(each, evidence));
  if (kept.length > 0) {
    const from = formatUsd(kept[0]?.beforeNanoUsd ?? 0);
    const detail = `unproven, $${formatUsd(paidOf(kept))}: no listed uses make the root of the statement from $${from}`;
    return failed(`${detail}. Ask the operator for its uses, or to make it good with activateFor`);
  }
  // Only debited uses are deleted.
  const debited = Number(chain?.debitedNanoUsd ?? said.balance?.credits.debited_nano_usd ?? 0);
  const paid = Math.max(endOf(said.records.at(-1)), Math.min(forgottenTo, debited));
  const rest = said.uses.filter(({ ends_at_nano_usd: end }) => end > paid);
  const used = said.balance?.credits.total_usage_nano_usd;
  const gap = period === null ? findGap(rest, paid, used ?? paid) : undefined;
  if (gap !== undefined) return failed(gap);
  const waiting = rest.length === 0 ? "" : `; ${rest.length} are not final yet`;
  const found = `${said.uses.length - rest.length} uses in ${statements.length - unproven.length} statements${waiting}`;
  const known = new Set(said.receipts.map(({ id }) => id));
  const forgotten = said.uses.filter(({ id }) => !known.has(id));
  const sum = formatUsd(sumOf(forgotten.map(({ charge_nano_usd: charge }) => charge)));
  const gone = [
    ...(unproven.length === 0 ? [] : [`the uses of ${unproven.length} statements, of $${formatUsd(paidOf(unproven))}`]),
    ...(forgotten.length === 0 ? [] : [`the receipts of ${forgotten.length}, of $${sum}`]),
  ];
  return gone.length === 0 ? passed(found) : skipped(`${found}; ${gone.join(", and ")}, are not kept any more`);
}

/** Whether all records of the statement are listed and the listed uses fill it. */
function isWhole({ beforeNanoUsd, paidToNanoUsd }: PaidStatement, { said: { records, uses } }: Evidence): boolean {
  if (beforeNanoUsd > 0 && !records.some((record) => endOf(record) === beforeNanoUsd)) return false;
  const own = uses.filter((use) => use.ends_at_nano_usd > beforeNanoUsd && startOf(use) < paidToNanoUsd);
  return findGap(own, beforeNanoUsd, Math.max(paidToNanoUsd, own.at(-1)?.ends_at_nano_usd ?? 0)) === undefined;
}

function paidOf(statements: readonly PaidStatement[]): number {
  return sumOf(statements.map(({ beforeNanoUsd, paidToNanoUsd }) => paidToNanoUsd - beforeNanoUsd));
}

/** A use that overlaps the previous one, or is listed twice. */
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

/** A use that differs from its receipt. */
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

/** A charged stretch without a use. */
function findGap(uses: readonly StatementUse[], from: number, to: number): string | undefined {
  let end = from;
  for (const [index, use] of uses.entries()) {
    if (index === 0 ? startOf(use) > end : startOf(use) !== end) return `no use was charged from $${formatUsd(end)} on`;
    end = use.ends_at_nano_usd;
  }
  return end === to ? undefined : `the uses end at $${formatUsd(end)}, and $${formatUsd(to)} was spent`;
}

/** The agents' parts agree in leaves and records, and a tenth of them came back or can be pulled. */
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
  const [there, owed] = [Number(chain.servedNanoUsd), Number(chain.owedBackNanoUsd)];
  const listed = sumOf(said.records.map(({ amount_nano_usd: amount }) => amount));
  const unlisted = there - served;
  if (unlisted < 0 || unlisted > Number(chain.debitedNanoUsd) - listed) {
    const detail = `agents served $${formatUsd(served)} by the records, and $${formatUsd(there)} by the chain`;
    return failed(detail, trusts);
  }
  const back = `$${formatUsd(Math.floor(there / 10) - owed)} came back in tokens`;
  const found = `agents served $${formatUsd(there)}; ${back}, $${formatUsd(owed)} can be pulled (payBack)`;
  if (unlisted === 0) return passed(found, trusts);
  return skipped(`${found}; the records of $${formatUsd(unlisted)} are not kept any more`, trusts);
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
