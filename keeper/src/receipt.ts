import { setTimeout as sleep } from "node:timers/promises";
import { type Hex, type TransactionReceipt, TransactionReceiptNotFoundError } from "viem";
import type { Connection } from "./connection.ts";

const WITHIN_MS = 120_000;

/**
 * Waits for a transaction's receipt. Throws if it takes too long. viem's own wait asks again only after the next block,
 * and a chain that makes blocks only for transactions may have none.
 */
export async function receiptOf(reader: Connection["reader"], hash: Hex): Promise<TransactionReceipt> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      return await reader.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      if (performance.now() > deadline) throw new Error(`Transaction ${hash} is in no block after ${WITHIN_MS} ms.`);
    }
    await sleep(reader.pollingInterval);
  }
}
