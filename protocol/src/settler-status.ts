import type { Address } from "./credential.ts";

/** What the settler of a gateway is doing. */
export type SettlerStatus = {
  /** `idle`: no uses are due. `posting`: a batch is on its way. `halted`: it is stopped until it is restarted. */
  state: "starting" | "idle" | "posting" | "waiting" | "halted";
  /** Why it waits or has halted. */
  reason?: string;
  address: Address;
  /** When a poll last got through. */
  lastPollAt: number | null;
  /** Of the settler's account, to pay for gas. */
  balanceWei: bigint | null;
  /** The number of its next transaction. */
  nonce: number | null;
};
