import { resolve } from "node:path";
import { type RequestLog, receiptsOf } from "@inference/sdk";
import { readText } from "./account.ts";
import type { Context } from "./context.ts";

const FILE = "receipts.jsonl";
/** The previous file is kept too: together some 40,000 receipts. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Appends a signed receipt to the log in the state folder, as the recipes in docs/clients.md do. */
export function keepReceipt({ folder }: Pick<Context, "folder">, receipt: string): void {
  folder.append(FILE, JSON.stringify({ receipt }), MAX_BYTES);
}

/**
 * @param named Files that have every request of the account since their first receipt. Undefined: what `infer chat`
 *   kept, beside which there may be other requests. Null: nothing was kept.
 */
export function readReceipts(context: Context, named: readonly string[] | undefined): RequestLog | null {
  const texts = named?.map((name) => readText(resolve(context.workingFolder, name))) ?? context.folder.read(FILE);
  const receipts = texts.flatMap(receiptsOf);
  return receipts.length === 0 && named === undefined ? null : { receipts, isComplete: named !== undefined };
}
