import { type Hex, keccak256, stringToHex } from "viem";
import type { Address } from "./credential.ts";

/** What a batch lowers the credit of an account by, in its order. With an agent it is a serve, else a debit. */
export type BatchEntry = {
  account: Address;
  amountNanoUsd: bigint;
  /** The agent that served, and the UTC day of its allowance, in days since 1970. */
  served?: { agent: Address; day: number } | undefined;
};

/** A digest of a batch's entries. The contract stores the root of the uses, which does not tell what was debited. */
export function entriesDigest(entries: readonly BatchEntry[]): Hex {
  const lines = entries.map(({ account, amountNanoUsd, served }) => {
    const by = served === undefined ? "" : ` ${served.agent} ${served.day}`;
    return `${account} ${amountNanoUsd}${by}`.toLowerCase();
  });
  return keccak256(stringToHex(lines.join("\n")));
}
