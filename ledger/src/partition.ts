import type { Address } from "@inference/protocol/credential";

/**
 * The units of atomicity: a command reads and writes one partition. On one machine all are in one file. At the edge
 * each is an object.
 *
 * - `account:<address>`: balance, keys and their limits, sign-in nonces, holds, receipts
 * - `identity:<address>`: a wallet's capacity, sessions, holds, receipts
 * - `identity:agent:<token>`: the same for an agent, separate from a wallet with the same address
 * - `ceiling`: the day's counters and the open holds under them; `ceiling:<shard>`: the same for some of the accounts
 * - `journal:<utc-day>`: the uses of a day, and the batch that each is in; `journal:<utc-day>:<shard>`: those of the
 *   accounts of a shard
 * - `chain:<chainId>`: the cursor of what has been read from a chain; the batches that are settled on it
 */
export type Partition = string;

export const ceilingPartition: Partition = "ceiling";
/** A shard of the ceiling, from 1: see `shard.ts`. */
export const ceilingShard = (shard: number): Partition => `${SHARD}${shard}`;
export const accountPartition = (address: Address): Partition => `account:${address.toLowerCase()}`;
export const identityPartition = (address: Address): Partition => `identity:${address.toLowerCase()}`;
export const agentPartition = (agentToken: Address): Partition => `identity:agent:${agentToken.toLowerCase()}`;
/** @param journal `<utc-day>`, or `<utc-day>:<shard>`. */
export const journalPartition = (journal: string): Partition => `journal:${journal}`;
export const chainPartition = (chainId: number): Partition => `chain:${chainId}`;

const SHARD = `${ceilingPartition}:`;

export function isCeilingShard(partition: Partition): boolean {
  return partition.startsWith(SHARD);
}

export function isCeiling(partition: Partition): boolean {
  return partition === ceilingPartition || isCeilingShard(partition);
}

/** The journal of a day for accounts that a ceiling admits. */
export function journalUnder(ceiling: Partition | null, utcDay: string): string {
  return ceiling !== null && isCeilingShard(ceiling) ? `${utcDay}:${ceiling.slice(SHARD.length)}` : utcDay;
}

/** The UTC day of a journal. */
export function journalDay(journal: string): string {
  return journal.slice(0, "2027-06-15".length);
}

/** Whether it is the day's own journal, and not one of a shard. */
export function isDaysOwn(journal: string): boolean {
  return journal === journalDay(journal);
}

/** The address in the name of an account's partition. */
export function partitionAddress(partition: Partition): Address {
  return partition.slice(partition.indexOf(":") + 1) as Address;
}
