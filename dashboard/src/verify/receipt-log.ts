import { receiptsOf } from "@inference/sdk/receipts-kept";
import type { RequestLog } from "@inference/sdk/verify/evidence";

const NAME = "receipts";
/** Some 700 bytes each. */
const MOST = 2_000;

/** Keeps the signed receipt of a request that this page made: the newest ones, in this browser. */
export function keepReceipt(receipt: string): void {
  const lines = [
    ...kept()
      .split("\n")
      .slice(1 - MOST),
    JSON.stringify({ receipt }),
  ];
  try {
    localStorage.setItem(NAME, lines.join("\n"));
  } catch {
    // The browser keeps nothing more. The check names the requests that are not in the log.
  }
}

function kept(): string {
  return localStorage.getItem(NAME) ?? "";
}

/** The receipts of this page and of the customer's log; null: none. */
export function readReceipts(log: string): RequestLog | null {
  const receipts = receiptsOf(`${kept()}\n${log}`);
  return receipts.length === 0 ? null : { receipts, isComplete: false };
}
