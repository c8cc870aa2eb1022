import { setTimeout as sleep } from "node:timers/promises";
import { type Hex, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError } from "viem";

/**
 * A transaction's receipt, once it is in a block. viem's own wait checks again only at the next block, and a chain that
 * makes blocks for transactions only may have none. Throws if it takes longer than `withinMs`.
 */
export async function receiptOf(
  reader: Pick<PublicClient, "getTransactionReceipt" | "pollingInterval">,
  hash: Hex,
  withinMs = 120_000,
): Promise<TransactionReceipt> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await reader.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      if (performance.now() > deadline) throw new Error(`Transaction ${hash} is in no block after ${withinMs} ms.`);
    }
    await sleep(reader.pollingInterval);
  }
}
