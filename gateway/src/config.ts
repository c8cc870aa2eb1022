import type { PostingTerms } from "@inference/ledger/commands";
import type { Settlement } from "@inference/protocol/use-leaf";
import type { CatalogueShape } from "./catalogue/catalogue.ts";
import type { KnownChain } from "./chain-directory.ts";

/** The configuration, fixed when the gateway starts. Hosts read it from their environment, see `settings.ts`. */
export type GatewayConfig = {
  /** The public URL, without a trailing slash. Signed messages must name it. */
  baseUrl: string;
  /** At least 32 bytes. API keys and sessions are checked with it. */
  secret: Uint8Array;
  /** The chain ids that a signed message may have. The first is the primary chain. */
  chainIds: readonly number[];
  upstream: UpstreamConfig;
  /** How long the gateway goes on reading an answer for its usage after the client has disconnected. */
  drainMs: number;
  /** Memory for the bodies of all requests whose answers have not begun. */
  bodyMemoryBytes: number;
  /** Memory for answers that have arrived from the provider and are not sent yet. */
  answerMemoryBytes: number;
  /** The chains with the token's contracts, as clients are told of them. The primary chain is first. */
  chains: readonly KnownChain[];
  /** The contract on the primary chain that settles uses. */
  settlement: Settlement;
  operator: OperatorConfig;
  request: RequestLimits;
  /** Whether accounts take the ceiling in pieces. On one machine it is raised and lowered with each request. */
  ceilingInPieces: boolean;
  /** When an account's statement is due. */
  posting: PostingTerms;
};

/** Limits of one request. */
export type RequestLimits = {
  /** A larger body is parsed only after its credential was looked up in its partition. */
  unprovenBodyBytes: number;
  chatBodyBytes: number;
  otherBodyBytes: number;
  /** For the whole body, however slowly it arrives. */
  bodyReadMs: number;
  /** From admission to the start of a stream, or to the end of a whole answer (of a large one, until it is sent). */
  answerMs: number;
  /** The largest whole answer. It is not held in memory. 2,048 embeddings of 3,072 numbers are 140 MB. */
  answerBytes: number;
  /** Between two bytes of a streamed answer. */
  streamIdleMs: number;
  /**
   * How long a client may read less than `limits.slowestReaderBytesPerS` before it is disconnected. Metering goes on.
   */
  stalledReaderMs: number;
};

export const defaultRequestLimits: RequestLimits = {
  unprovenBodyBytes: 4 * 1024,
  chatBodyBytes: 8 * 1024 * 1024,
  otherBodyBytes: 1024 * 1024,
  bodyReadMs: 15_000,
  answerMs: 10 * 60_000,
  answerBytes: 1024 * 1024 * 1024,
  streamIdleMs: 120_000,
  stalledReaderMs: 30_000,
};

/** Possible on every host: a Worker is ended 30 s after its client has disconnected. */
export const defaultDrainMs = 25_000;

/** What the operator decides for all clients. */
export type OperatorConfig = {
  /** The bearer token for /metrics; null: nobody may read it. */
  metricsToken: string | null;
  /** The header in which a reverse proxy sends the client's address; null: there is no proxy. */
  addressHeader: string | null;
  /** Maximum requests a minute of an account or identity, and of a client's address; null: no limit. */
  accountRequestsPerMinute: number | null;
  addressRequestsPerMinute: number | null;
  /** Consecutive failures, one per account, that open a model's circuit, and for how long; null: it never opens. */
  breaker: { failures: number; openMs: number } | null;
  /** Maximum concurrent requests per model at the provider, and maximum queued ones; Infinity: no limit. */
  queue: { atOnce: number; waiting: number; waitMs: number };
  /** Maximum failed requests of a key at the provider, and for how long each counts; null: no limit. */
  failures: { most: number; windowMs: number } | null;
  /** How long receipts are kept. Their totals are kept forever. */
  receiptMs: number;
};

export type UpstreamConfig = {
  /** Up to and including the version: `https://provider.example/api/v1`. */
  baseUrl: string;
  apiKey: string;
  catalogueShape: CatalogueShape | "auto";
  /** The text of a price file that replaces the provider's catalogue. */
  pricesFile: string | null;
  aliases: Readonly<Record<string, string>>;
  /** Fields that are merged into every chat body, to switch off what the provider would add by itself. */
  chatExtras: Readonly<Record<string, unknown>>;
  /** The field that carries a chat request's output limit. */
  chatOutputField: "max_tokens" | "max_completion_tokens";
  /** The output limit of a request to /responses that has none, at most the model's. */
  defaultOutputTokens: number;
  /** A header by which the provider marks an image it blocked and does not bill; null if it has none. */
  blockedHeader: string | null;
  /**
   * Where the provider reports the usage of a request; null if it does not. `{id}` is the answer's id, `{since}` a time
   * before the request. It has its own key, because such records are often for administrators only.
   */
  recordUrl: string | null;
  recordKey: string;
  /**
   * A key at the provider that can manage keys. With it, each identity gets its own key, made under the master key.
   * Null: all requests use the master key.
   */
  adminKey: string | null;
};

/** Limits that are no settings: they depend on each other, or on what the API promises. */
export const limits = {
  authBodyBytes: 16 * 1024,
  /** A larger body counts as it arrives, not as it is announced. */
  smallBodyBytes: 64 * 1024,
  /** A body up to this size is parsed at once. A larger one waits for its sender's turn. */
  parsedBodyBytes: 4 * 1024,
  /** A larger body is read in another thread. A host without one refuses it. */
  wholeBodyBytes: 1024 * 1024,
  /** Time between two turns of free work, such as a page of receipts: it takes a part of the thread. */
  freeWorkEveryMs: 20,
  /** How long a valid credential counts as valid for reading and parsing a body. The reserve checks it again. */
  provenMs: 5_000,
  /**
   * Anyone can cause a signature check by a contract, which costs calls to the operator's node: `each` is per client.
   */
  contractSignatures: { atOnce: 8, each: 2 },
  /** Reads of an agent's owner at sign-in, which any wallet can cause. */
  agentSignIns: { atOnce: 8, each: 2 },
  /** All reads of owners and capacities, for sessions and sign-ins. Anyone can have many sessions. */
  chainReads: { atOnce: 64, each: 16 },
  /** From admission until the lease of a hold lapses. */
  leaseMs: 15 * 60_000,
  /** From admission to the end of draining: a minute less than the lease. */
  requestMs: 14 * 60_000,
  /** Failures at the provider after which an account waits, of those that its own requests caused. */
  causedFailures: 5,
  /** How long a key counts as blocked, if the provider does not say. */
  keyBlockMs: 30_000,
  /** The longest time for which a key counts as blocked. Then the provider is asked again. */
  mostKeyBlockMs: 600_000,
  /** Maximum requests of one account in a queue. */
  queueWaitingEach: 32,
  /** The least rate at which a client must read an answer, over `stalledReaderMs`. */
  slowestReaderBytesPerS: 8 * 1024,
  /**
   * A whole answer up to this size is gathered and parsed before any of it is sent, so that an error in it becomes an
   * error response, and with an `Idempotency-Key` it is kept. The slowest of this size takes 60 ms.
   */
  gatheredAnswerBytes: 1024 * 1024,
  /** The same while memory is short. */
  smallAnswerBytes: 64 * 1024,
  checkpointMs: 5_000,
  checkpointTokens: 2_000,
  keepAliveMs: 15_000,
  /** How long, and how often, a request waits for a budget that other requests of its payer have taken. */
  budgetWait: { mostMs: 10_000, eachMs: 500 },
  catalogueRefreshMs: 5 * 60_000,
  catalogueMaxAgeMs: 15 * 60_000,
  /** Least time between two reads that a missing model, or a provider's list that could not be read, may cause. */
  goneModelRefreshMs: 10_000,
  /** Time between two checks of the provider key, while it is unknown or refused. */
  keyCheckMs: 30_000,
  sessionMs: 24 * 3_600_000,
  /** How long an `Idempotency-Key` is reserved. */
  idempotencyMs: 24 * 3_600_000,
  /** Maximum bytes of answers kept in a UTC day: of one account or identity, and of all. */
  keptBytesEach: 64 * 1024 * 1024,
  keptBytes: 1024 * 1024 * 1024,
  messageMs: 10 * 60_000,
  /** How long an identity's capacity is not read again, and how long it is used while the chain does not answer. */
  capacityFreshMs: 60_000,
  capacityServesMs: 10 * 60_000,
  /** How long an agent's owner is not read again. */
  agentOwnerMs: 5 * 60_000,
  /** How long the contracts' books are not read again. */
  booksMs: 10_000,
  /** How long the sweeper waits for the provider's record of an orphaned request. */
  orphanGraceMs: 30_000,
  /** How long one sweep may start new holds. The next sweep takes the rest. */
  sweepMs: 4 * 60_000,
} as const;
