import type { Evidence } from "@inference/sdk/verify/evidence";
import type { Check, Verdict } from "@inference/sdk/verify/judge";
import { endOf } from "@inference/sdk/verify/statements";
import { count, usd } from "../format.ts";

/** The titles of the checks, by id. */
export const TITLES: Readonly<Record<Check["id"], string>> = {
  contract: "The settlement contract is the one that you trust",
  prices: "Prices match published snapshots",
  usage: "Each charge is its usage times the price",
  receipts: "Receipts add up to your spend",
  debits: "Debits on chain follow each other without a gap",
  leaves: "Each charge leads to a root stored on chain",
  requests: "Each charge has a signed receipt of yours",
  served: "A tenth of what agents served came back",
  waiting: "No charge waits longer than promised",
  balance: "Credit on chain is what you added",
  books: "Reserves cover all claims on every chain",
};

/** The account's sums: added, less proved, waiting and reserved, is the balance. In nano-dollars. */
export type Sums = { added: number; proved: number; waiting: number; reserved: number; balance: number };

/** The sums of evidence of a whole account; null: it is of a bill. `proved` is what the contract debited. */
export function sumsOf({ said: { balance }, chain }: Evidence): Sums | null {
  if (balance === null) return null;
  const { total_credits_nano_usd: added, total_usage_nano_usd: used, ...rest } = balance.credits;
  const proved = Number(chain?.debitedNanoUsd ?? rest.debited_nano_usd);
  const { reserved_nano_usd: reserved, available_nano_usd: available } = rest;
  return { added, proved, waiting: used - proved, reserved, balance: available };
}

/** The verdict's sentence, with its limit: how much is proved, and how much waits. */
export function sentenceOf({ checks }: Pick<Verdict, "checks">, evidence: Evidence): string {
  const failed = checks.filter(({ outcome }) => outcome === "fail");
  if (failed.length > 0) {
    return `${failed.map(({ id }) => TITLES[id]).join("; ")}: this does not hold. Save the proof and ask the operator.`;
  }
  const sums = sumsOf(evidence);
  const { records, uses } = evidence.said;
  const end = sums?.proved ?? endOf(records.at(-1));
  const final = uses.filter(({ ends_at_nano_usd: ends }) => ends <= end).length;
  const proved = sums?.proved ?? records.reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0);
  const waiting = sums?.waiting ?? 0;
  const waits =
    waiting > 0 ? ` ${requests(uses.length - final)} of ${usd(waiting)} in all wait for a final block.` : "";
  if (proved === 0) return waits === "" ? "Nothing was charged yet." : `Nothing is debited on chain yet.${waits}`;
  const isWhole = checks.every(({ id, outcome }) => outcome === "pass" || (id !== "leaves" && id !== "debits"));
  const charged = isWhole
    ? `Every charge on chain is proved: ${usd(proved)} in ${requests(final)}.`
    : `The contract debited ${usd(proved)}. The proofs that are kept hold; older ones are not kept any more.`;
  return charged + waits;
}

const requests = (some: number): string => `${count(some)} ${some === 1 ? "request" : "requests"}`;
