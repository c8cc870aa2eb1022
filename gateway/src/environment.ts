import type { LedgerClient } from "@inference/ledger/client";
import type { Books } from "@inference/protocol/books";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";

/**
 * What the gateway is given by its host, and knows only as these interfaces: it reads no clock, no environment, no
 * randomness and no network by itself.
 */
export type Environment = {
  clock: Clock;
  random: Random;
  ledger: LedgerClient;
  keyValue: KeyValueStore;
  chain: ChainReader;
  upstream: UpstreamTransport;
  log: Log;
  /** Work that goes on after its answer has left; the host waits for it before it stops. */
  background(work: Promise<unknown>): void;
  timers: Timers;
};

export type Clock = {
  /** Ms since the epoch. */
  now(): number;
};

export type Random = { bytes(length: number): Uint8Array };

export type KeyValueStore = {
  get(key: string): Promise<string | null>;
  put(key: string, value: string, options?: { expiresAt?: number }): Promise<void>;
  delete(key: string): Promise<void>;
};

/**
 * What the gateway asks of a chain. Each call ends within two seconds, and may throw `ChainUnavailable`: never taken
 * for an answer.
 */
export type ChainReader = {
  /** `owner()` of any contract on the primary chain; null where it answers with no address, or there is no contract. */
  agentOwner(agentToken: Address): Promise<Address | null>;
  /** An identity's dollars, from the pool, for the UTC day of the block that was asked; `at` is that block's time. */
  capacityToday(identity: Address): Promise<{ capacityNanoUsd: NanoUsd; at: number }>;
  /** Whether a contract wallet accepts a signature over a message (ERC-1271, ERC-6492). */
  acceptsSignature(query: {
    chainId: number;
    address: Address;
    message: string;
    signature: `0x${string}`;
  }): Promise<boolean>;
  /** The contracts' books in the primary chain's latest block; null where there are none. */
  books(): Promise<Books | null>;
  /** Activations seen on the chain that are not final yet. */
  pendingActivations(account: Address): PendingActivation[];
  /** How far activations have been read. */
  following(): ChainFollowing;
};

/** `halted`: something on the chain contradicts our books, and nothing is credited until an operator has looked. */
export type ChainFollowing = {
  state: "starting" | "following" | "halted";
  /** The last block in our books, and how many final ones are not. */
  block: number | null;
  lagBlocks: number | null;
};

export type PendingActivation = { amountNanoUsd: NanoUsd; block: number; transaction: string };

export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
}

/** Whoever implements `ChainReader` may throw an error of its own by this name. */
export function isChainUnavailable(error: unknown): boolean {
  return error instanceof Error && error.name === "ChainUnavailable";
}

export type UpstreamTransport = {
  /** Sends one request to the provider. Never follows a redirect. Throws `UpstreamFailure`. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
};

export type UpstreamRequest = {
  method: "GET" | "POST" | "PATCH";
  url: string;
  headers: Record<string, string>;
  /** Text, or bytes in blocks that are sent one after another. */
  body?: string | readonly Uint8Array[];
  signal: AbortSignal;
};

export type UpstreamResponse = {
  status: number;
  header(name: string): string | null;
  /** Yields the body's bytes as they arrive; throws `UpstreamFailure` if it breaks off. Leaving early cancels it. */
  body: AsyncIterable<Uint8Array>;
};

/** Why no answer, or no whole answer, came from the provider. */
export class UpstreamFailure extends Error {
  override name = "UpstreamFailure";
  readonly stage: "not_sent" | "sent" | "body";
  /** @param stage `not_sent`: no byte reached the provider, so that trying again is safe. */
  constructor(stage: "not_sent" | "sent" | "body", message: string) {
    super(message);
    this.stage = stage;
  }
}

export type Log = (level: "info" | "warn" | "alert", event: string, fields?: LogFields) => void;
export type LogFields = Record<string, string | number | boolean | null>;

export type Timers = {
  /**
   * Calls back once, and never after it was cancelled, whichever request cancels it. After 0 ms it calls back in a
   * later turn of the event loop, as soon as may be.
   */
  after(ms: number, callback: () => void): { cancel(): void };
};
