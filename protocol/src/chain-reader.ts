import type { Books } from "./books.ts";
import type { Address } from "./credential.ts";
import type { NanoUsd } from "./money.ts";

/** The gateway's reads of the primary chain. Each ends within two seconds, and may throw `ChainUnavailable`. */
export type ChainReader = {
  /** `owner()` of any contract on the primary chain; null if there is no contract, or its answer is no address. */
  agentOwner(agentToken: Address): Promise<Address | null>;
  /**
   * The seller of an agent's capacity in the latest block; null if the primary chain's registry did not create the
   * agent.
   */
  agentSeller(agentToken: Address): Promise<AgentSeller | null>;
  /** An identity's capacity, from the pool, for the UTC day of the latest block; 0 if there is no pool. */
  capacityToday(identity: Address): Promise<Capacity>;
  /** Whether a contract wallet on the primary chain accepts a signature over a hash (ERC-1271, ERC-6492). */
  acceptsSignature(query: SignatureQuery): Promise<boolean>;
  /** The contracts' sums in the latest block; null without contracts. */
  books(): Promise<Books | null>;
  /** Activations that are on the chain and not final yet. */
  pendingActivations(account: Address): PendingActivation[] | Promise<PendingActivation[]>;
  /** How far activations have been read. */
  following(): ChainFollowing;
};

/** `at` is the time of the block that was read, in ms since the epoch. The capacity is that of its day. */
export type Capacity = { capacityNanoUsd: NanoUsd; at: number };

/** `computer` is null if the agent has none, or had it from an owner before. */
export type AgentSeller = { owner: Address; computer: Address | null };

export type SignatureQuery = {
  address: Address;
  /** The signed hash: of a message (EIP-191) or of typed data (EIP-712). */
  hash: `0x${string}`;
  signature: `0x${string}`;
};

export type PendingActivation = { amountNanoUsd: NanoUsd; block: number; transaction: string };

/** `halted`: the chain contradicts the ledger, and nothing is credited until the operator has resolved it. */
export type ChainFollowing = {
  state: "starting" | "following" | "halted";
  /** The last block in the ledger, and the number of later final blocks. */
  block: number | null;
  lagBlocks: number | null;
};

/** The chain did not answer, or its answer cannot be true. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
}
