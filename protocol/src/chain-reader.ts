import type { Books } from "./books.ts";
import type { Address } from "./credential.ts";
import type { NanoUsd } from "./money.ts";

/** What the gateway asks of a chain. Each call ends within two seconds, and may throw `ChainUnavailable`. */
export type ChainReader = {
  /** `owner()` of any contract on the primary chain; null where it answers with no address, or there is no contract. */
  agentOwner(agentToken: Address): Promise<Address | null>;
  /** An identity's capacity, from the pool, for the UTC day of the latest block; 0 where there is no pool. */
  capacityToday(identity: Address): Promise<Capacity>;
  /** Whether a contract wallet on the primary chain accepts a signature over a message (ERC-1271, ERC-6492). */
  acceptsSignature(query: SignatureQuery): Promise<boolean>;
  /** The contracts' books in the primary chain's latest block; null where there are none. */
  books(): Promise<Books | null>;
  /** Activations seen on the chain that are not final yet. */
  pendingActivations(account: Address): PendingActivation[];
  /** How far activations have been read. */
  following(): ChainFollowing;
};

/** `at` is the time of the block that was asked, in ms since the epoch: the capacity is that of its day, and no other. */
export type Capacity = { capacityNanoUsd: NanoUsd; at: number };

export type SignatureQuery = {
  address: Address;
  message: string;
  signature: `0x${string}`;
};

export type PendingActivation = { amountNanoUsd: NanoUsd; block: number; transaction: string };

/** `halted`: something on the chain contradicts our books, and nothing is credited until an operator has looked. */
export type ChainFollowing = {
  state: "starting" | "following" | "halted";
  /** The last block in our books, and how many final ones are not. */
  block: number | null;
  lagBlocks: number | null;
};

/** No answer came from the chain, or none that could be believed. Never to be taken for an answer. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
}
