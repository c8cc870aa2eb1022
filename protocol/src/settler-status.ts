import type { Address } from "./credential.ts";
import type { NanoUsd } from "./money.ts";

/** Begins the reason of a settler whose chunk the contract would refuse. The name of the contract's error follows. */
export const REFUSED = "the settlement refuses a chunk";

/** The state of a gateway's settler. */
export type SettlerStatus = {
  /** `idle`: no statement is due. `posting`: chunks are on their way. */
  state: "starting" | "idle" | "posting" | "waiting";
  /** Why it waits. */
  reason?: string;
  address: Address;
  /** When a poll last got through. */
  lastPollAt: number | null;
  /** The settler's balance, which pays for gas. */
  balanceWei: bigint | null;
  /** The number of its next transaction. */
  nonce: number | null;
  /** Transactions that are not final. */
  inFlight: number;
  /** Statements that are not final, as of the last poll: how many, their sum, and the oldest admission of a use. */
  waiting: { accounts: number; amountNanoUsd: NanoUsd; oldestAt: number | null };
};
