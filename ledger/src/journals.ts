import type { LedgerClient } from "./client.ts";
import { journalPartition } from "./partition.ts";

/** The journals of a UTC day: its own, and those of the shards that have uses of it, however many there are now. */
export async function journalsOf(ledger: Pick<LedgerClient, "read">, utcDay: string): Promise<string[]> {
  return [utcDay, ...(await ledger.read(journalPartition(utcDay), { type: "shards" }))];
}
