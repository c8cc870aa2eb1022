import type { Hex } from "viem";
import {
  checkBalance,
  checkContract,
  checkDebits,
  checkLeaves,
  checkPrices,
  checkReceipts,
  checkUsage,
} from "./check-account.ts";
import { checkBooks } from "./check-books.ts";
import type { Evidence } from "./evidence.ts";
import type { Found } from "./found.ts";

export type Check = Found & {
  id: "contract" | "prices" | "usage" | "receipts" | "leaves" | "debits" | "balance" | "books";
  /** What was to be shown. */
  title: string;
};

export type Verdict = {
  checks: Check[];
  /** `fail` if any check fails; `skipped` if none does and any was skipped. */
  outcome: Check["outcome"];
  /** What no check shows. */
  notProven: readonly string[];
};

/**
 * @param options.isBundle The evidence was kept by somebody: whoever made it is trusted for all that it says.
 * @param options.settlement The settlement contract's address that whoever judges a bundle trusts. Without it the
 *   bundle's word is taken, and the check of the contract is skipped.
 */
export function judge(given: Evidence, { isBundle = false, settlement }: JudgeOptions = {}): Verdict {
  const evidence = isBundle ? { ...given, contract: { ...given.contract, isPinned: settlement !== undefined } } : given;
  const maker = isBundle ? ["whoever made this bundle"] : [];
  const judged = checks.map(({ id, title, check }): Check => {
    const found = tried(() => check(evidence, isBundle ? settlement : undefined));
    return { id, title, ...found, trusts: [...found.trusts, ...maker] };
  });
  const has = (outcome: Check["outcome"]) => judged.some((check) => check.outcome === outcome);
  return { checks: judged, outcome: has("fail") ? "fail" : has("skipped") ? "skipped" : "pass", notProven };
}

type JudgeOptions = { isBundle?: boolean; settlement?: Hex | undefined };

const checks: readonly { id: Check["id"]; title: string; check: (evidence: Evidence, own?: Hex) => Found }[] = [
  { id: "contract", title: "the settlement contract is the right one", check: checkContract },
  { id: "prices", title: "the prices of each receipt are published as they were", check: checkPrices },
  { id: "usage", title: "each charge is the usage at the published prices", check: checkUsage },
  { id: "receipts", title: "the receipts come to what was spent, and the balance to the rest", check: checkReceipts },
  { id: "leaves", title: "each use leads to the root that the contract stores", check: checkLeaves },
  { id: "debits", title: "the uses of each batch come to its debit on chain", check: checkDebits },
  { id: "balance", title: "activations less debits are the credit, on chain and here", check: checkBalance },
  { id: "books", title: "every claim on every chain is covered by dollars", check: checkBooks },
];

const notProven = [
  "That the provider counted tokens rightly and ran the model that it names, and that the gateway tells its count.",
  "Charges that do not rest on a usage, such as those of broken streams and images: see `basis` in the receipt.",
  "That uses which wait for a batch come into one: a check fails only after seven days.",
  "That prices were announced before they were used: a receipt names them, and nobody else says of which time they are.",
  "What the contracts do: that is in their code, at the address that you trust.",
  "That there is no further chain: one that the gateway does not name is noticed by its line, and that may be empty.",
  "The charges of other accounts: each can check its own.",
];

function tried(check: () => Found): Found {
  try {
    return check();
  } catch (error) {
    return { outcome: "fail", detail: `what was said cannot be read: ${String(error)}`, trusts: [] };
  }
}
