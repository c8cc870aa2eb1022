import type { Address } from "./credential.ts";

/**
 * Where the dollars of the secondary chains are: what each chain owes and has, and the messages between the chains. All
 * amounts are in token units (1e-6 dollar).
 */
export type DollarView = {
  /** When the chains were last read, in ms since the epoch. */
  at: number;
  chains: readonly SecondaryBooks[];
  /** Open messages, and for a day those that were delivered. */
  messages: readonly BridgeMessage[];
};

/**
 * The sums of a secondary chain. They add up if `supply + inFlight + gifted = line + outbox + flushed - booked` (I1b in
 * `contracts/README.md`), and if no message was delivered that was not sent.
 */
export type SecondaryBooks = {
  chainId: number;
  /** The latest block of the secondary chain, and its time. */
  block: number;
  at: number;
  supplyToken: bigint;
  /** The primary chain's debt to this chain, with all gifts to it. */
  lineToken: bigint;
  giftedToken: bigint;
  /** Dollars that wait in the chain's outbox, and since when; null if there are none. */
  outboxToken: bigint;
  outboxSince: number | null;
  /** The outbox sends no dollars before. */
  nextFlushAt: number;
  /** All dollars that the outbox has sent, and all that the primary chain has booked. */
  flushedToken: bigint;
  bookedToken: bigint;
  /** Messages from and to the chain that are burned and not delivered. Those that wait to be covered are among them. */
  inFlightToken: bigint;
  waitingToken: bigint;
  /** Since when the oldest message is on its way; null if there is none. */
  oldestMessageAt: number | null;
  addsUp: boolean;
};

/** A message of the token's bridge, as far as both chains have reported it. */
export type BridgeMessage = {
  guid: string;
  kind: "transfer" | "activation";
  sourceChainId: number;
  destinationChainId: number;
  from: Address;
  /** The account of an activation, the receiver of a transfer. */
  to: Address;
  amountToken: bigint;
  /**
   * - `burned`: the burn is in a block that is not final
   * - `sent`: it is final, and the verifiers have not all attested the message
   * - `verified`: they have
   * - `waiting`: the message has arrived, and is not covered yet
   * - `delivered`: it has taken effect on the destination chain
   * - `discarded`: the timelock has removed it
   */
  stage: "burned" | "sent" | "verified" | "waiting" | "delivered" | "discarded";
  /** The transaction of the burn, and the time of its block. */
  transaction: string;
  at: number;
  /** The block of the delivery, and its transaction and time; null before. */
  delivery: { block: number; transaction: string; at: number } | null;
};

/** A chain whose dollars are followed, and the gateway's node of it. */
export type FollowedChain = {
  chainId: number;
  eid: number;
  rpcUrl: string;
  /** A block before the bridge's first event. */
  startBlock: number;
  token: Address;
  bridge: Address;
  /** On the primary chain. */
  minter: Address | null;
  /** On a secondary chain. */
  outbox: Address | null;
};

/** The chains whose dollars are followed, the primary chain first. */
export type FollowedChains = { primary: FollowedChain; secondaries: readonly FollowedChain[] };
