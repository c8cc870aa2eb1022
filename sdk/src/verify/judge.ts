import { type Keccak, pureKeccak } from "@inference/protocol/merkle-tree";
import type { Hex } from "viem";
import { checkBalance, checkContract, checkPrices, checkReceipts, checkUsage, checkWaiting } from "./check-account.ts";
import { checkBooks } from "./check-books.ts";
import { checkRequests } from "./check-requests.ts";
import { checkDebits, checkLeaves, checkServed } from "./check-statements.ts";
import type { Evidence, RequestLog } from "./evidence.ts";
import type { Found } from "./found.ts";
import { type PaidStatement, paidStatements, type Tools } from "./statements.ts";

export type Check = Found & {
  id: (typeof checks)[number]["id"];
  title: string;
};

export type Verdict = {
  checks: Check[];
  /** `fail` if any check fails; `skipped` if none does and any was skipped. */
  outcome: Check["outcome"];
  /** The facts that no check proves, see {@link notProven}. */
  notProven: readonly string[];
};

export type JudgeOptions = {
  /** The evidence is a stored file: its maker is trusted for all of its content. */
  isBundle?: boolean;
  /** The chain's part of a bundle was read anew, with {@link askChain}. */
  isAsked?: boolean;
  /**
   * The settlement contract's address that the judge of a bundle trusts. Absent: the bundle's address is used, and the
   * check of the contract is skipped.
   */
  settlement?: Hex | undefined;
  /** A faster hash, such as that of `@inference/protocol/keccak-wasm`. */
  keccak?: Keccak | undefined;
};

export async function judge(given: Evidence, options: JudgeOptions = {}): Promise<Verdict> {
  const { isBundle = false, isAsked = false, settlement, keccak = pureKeccak } = options;
  const evidence = isBundle ? { ...given, contract: { ...given.contract, isPinned: settlement !== undefined } } : given;
  const makerOf = (id: Check["id"]) => {
    return isBundle && !(isAsked && PROVED_BY_CHAIN.includes(id)) ? ["whoever made this bundle"] : [];
  };
  let laid: PaidStatement[] | undefined;
  const statements = () => (laid ??= paidStatements(evidence, keccak));
  const tools = { keccak, statements, own: isBundle ? settlement : undefined };
  const judged: Check[] = [];
  for (const { id, title, check } of checks) {
    if (!isMade(id, evidence)) continue;
    const found = await tried(async () => check(evidence, tools));
    judged.push({ id, title, ...found, trusts: [...found.trusts, ...makerOf(id)] });
  }
  const has = (outcome: Check["outcome"]) => judged.some((check) => check.outcome === outcome);
  const outcome = has("fail") ? "fail" : has("skipped") ? "skipped" : "pass";
  return { checks: judged, outcome, notProven: notProven({ ...evidence, isUnasked: isBundle && !isAsked }) };
}

/** Hashes link these checks to a node's answers, whoever made the bundle. */
const PROVED_BY_CHAIN: readonly string[] = ["contract", "prices", "debits", "leaves", "requests", "served"];

type Checker = { id: string; title: string; check: (evidence: Evidence, tools: Tools) => Found | Promise<Found> };

const checks = [
  { id: "contract", title: "the settlement contract is the right one", check: checkContract },
  { id: "prices", title: "the prices of each use are published as they were", check: checkPrices },
  { id: "usage", title: "each charge is the usage at the published prices", check: checkUsage },
  { id: "receipts", title: "the receipts come to what was spent, and the balance to the rest", check: checkReceipts },
  { id: "debits", title: "each debit on chain begins where the last one ended", check: checkDebits },
  { id: "leaves", title: "the uses under each root fill its debits, each once and as its receipt", check: checkLeaves },
  { id: "requests", title: "each use is a request of yours, by your signed receipts", check: checkRequests },
  { id: "served", title: "a tenth of what agents served comes back", check: checkServed },
  { id: "waiting", title: "nothing waits longer than promised", check: checkWaiting },
  { id: "balance", title: "what was activated on chain is credited here", check: checkBalance },
  { id: "books", title: "every claim on every chain is covered by dollars", check: checkBooks },
] as const satisfies readonly Checker[];

/** A bill has no checks of the whole account, and the check of requests needs a log. */
function isMade(id: Check["id"], { period, log }: Evidence): boolean {
  if (id === "requests") return log !== null;
  return period === null || !["receipts", "waiting", "balance", "books"].includes(id);
}

type Beforehand = { log: RequestLog | null; period: Evidence["period"]; isUnasked?: boolean };

/** The facts that no check can prove. Show them before the checks begin. */
export function notProven({ log, period, isUnasked = false }: Beforehand): string[] {
  return [
    ...(isUnasked ? ["What the chain says: the file tells it. Name a node of your own to ask the contract."] : []),
    ...(log === null
      ? [
          "That you made these requests: a gateway that repeats or invents some passes. Keep signed receipts to check it.",
        ]
      : []),
    ...(log?.isComplete === false
      ? ["That you made the requests that are not in your log: a check names their sum."]
      : []),
    "That the provider counted tokens rightly and ran the model that it names, and that the gateway tells its count.",
    "Charges that do not rest on a usage, such as those of broken streams and images: a check names their sum.",
    ...(period === null
      ? ["That what waits is posted: a check fails only 7 days after the day in the receipt, or 33 days below a cent."]
      : ["The balance, the books, what waits, and the other days: that takes the whole account."]),
    "That prices were announced before they were used: only the gateway says when a price took effect.",
    "What the contracts do: that is in their code, at the address that you trust.",
    ...(period === null
      ? [
          "That no further chain exists: the checks read the chains that the gateway lists, and notice others by their dollars.",
        ]
      : []),
    "The charges of other accounts: each can check its own.",
  ];
}

async function tried(check: () => Promise<Found>): Promise<Found> {
  try {
    return await check();
  } catch (error) {
    return { outcome: "fail", detail: `what was said cannot be read: ${String(error)}`, trusts: [] };
  }
}
