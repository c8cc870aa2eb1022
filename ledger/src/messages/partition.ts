import type { Address } from "@inference/protocol/credential";

/**
 * The units of atomicity: a command reads and writes one partition. On one machine all partitions share a file. At the
 * edge each is an object.
 *
 * - `account:<address>`: balance, bill, keys and their limits, sign-in nonces, holds, receipts, uses
 * - `identity:<address>`: a wallet's capacity, sessions, holds, receipts
 * - `identity:agent:<token>`: the same for an agent, separate from a wallet with the same address, and its offer
 * - `ceiling`: the day's ceiling, and what each account may use of it
 * - `chain:<chainId>`: the cursor of what has been read from a chain; what each account activated and was debited; the
 *   statements that are due, and the transactions that settle them
 */
export type Partition = string;

export const ceilingPartition: Partition = "ceiling";
export const accountPartition = (address: Address): Partition => `${ACCOUNT}${address.toLowerCase()}`;
export const identityPartition = (address: Address): Partition => `${IDENTITY}${address.toLowerCase()}`;
export const agentPartition = (agentToken: Address): Partition => `${AGENT}${agentToken.toLowerCase()}`;
export const chainPartition = (chainId: number): Partition => `chain:${chainId}`;

const ACCOUNT = "account:";
const IDENTITY = "identity:";
const AGENT = `${IDENTITY}agent:`;

export function isAccount(partition: Partition): boolean {
  return partition.startsWith(ACCOUNT);
}

export function isAgent(partition: Partition): boolean {
  return partition.startsWith(AGENT);
}

/**
 * The account's or identity's partition that an operator names, in any case of letters. Undefined: no other partition
 * is ever put back from a copy. Accounts tell the ceiling again, and the chain is read again.
 */
export function restorable(name: string): Partition | undefined {
  const partition = name.toLowerCase();
  return isAccount(partition) || partition.startsWith(IDENTITY) ? partition : undefined;
}

/** The agent token in the name of an agent's partition. */
export function partitionAgent(partition: Partition): Address {
  return partition.slice(AGENT.length) as Address;
}

/** The address in the name of an account's partition. */
export function partitionAddress(partition: Partition): Address {
  return partition.slice(partition.indexOf(":") + 1) as Address;
}
