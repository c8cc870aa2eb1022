import type { CatalogueShape } from "./catalogue/catalogue.ts";
import type { KnownChain } from "./chain-directory.ts";

/** What the gateway is told once, at its start. Hosts read it from their environment, see `settings.ts`. */
export type GatewayConfig = {
  /** Where clients reach us, without a trailing slash: what signed messages must name. */
  baseUrl: string;
  /** At least 32 bytes; keys and sessions are checked against it. */
  secret: Uint8Array;
  /** Chains whose ids a signed message may carry; the first is the primary chain. */
  chainIds: readonly number[];
  upstream: UpstreamConfig;
  /** How long an answer is read on for its usage after its client has gone. */
  drainMs: number;
  /** What the host can spare of its memory for the bodies of all requests whose answers have not begun. */
  heldBodyBytes: number;
  /** What the host can spare for answers that have come from the provider and have not left. */
  heldAnswerBytes: number;
  /** Those with the token's contracts, the primary chain first: what clients are told of them. */
  chains: readonly KnownChain[];
  operator: OperatorConfig;
  request: RequestLimits;
};

/** What one request may take. */
export type RequestLimits = {
  /** A larger body is read on and parsed only for a credential that its partition has said to be good. */
  unprovenBodyBytes: number;
  chatBodyBytes: number;
  otherBodyBytes: number;
  /** For the whole of a body, however it trickles in. */
  bodyReadMs: number;
  /** From admission to the first of a stream; to the end of a whole answer, or to so much of it that it is sent. */
  answerMs: number;
  /** The largest whole answer, which takes no memory: 2,048 embeddings of 3,072 numbers are 140 MB. */
  answerBytes: number;
  /** Between two bytes of a streamed answer. */
  streamIdleMs: number;
  /** How long a reader may take less than `limits.slowestReaderBytesPerS` before it is cut off; metering goes on. */
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

/** As long as every host can: a Worker is ended 30 s after its client has gone. */
export const defaultDrainMs = 25_000;

/** What whoever runs the gateway decides for everybody. */
export type OperatorConfig = {
  /** Who knows it may read /metrics; null: nobody may. */
  metricsToken: string | null;
  /** The header in which the proxy in front of us writes the client's address; null: clients come here themselves. */
  addressHeader: string | null;
  /** Requests a minute, of an account or identity and of a client's address; null: as many as there are. */
  accountRequestsPerMinute: number | null;
  addressRequestsPerMinute: number | null;
  /** Failures in a row, one of each account, after which a model is not asked for, and for how long; null: it is. */
  breaker: { failures: number; openMs: number } | null;
  /** Requests of one model at the provider at a time, and those that may wait for it; null: as many as there are. */
  queue: { atOnce: number; waiting: number; waitMs: number } | null;
  /** How long receipts are kept. What they come to stays. */
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
  /** Fields merged into every chat body: to switch off what the provider would add on its own. */
  chatExtras: Readonly<Record<string, unknown>>;
  /** The field that carries a chat request's output limit. */
  chatOutputField: "max_tokens" | "max_completion_tokens";
  /** A header by which the provider marks an image it blocked and does not bill; null if it has none. */
  blockedHeader: string | null;
  /**
   * Where the provider keeps a record of what a request used, if it does: `{id}` is the answer's id, `{since}` a time
   * before the request. Read with a key of its own, for such records are often for administrators.
   */
  recordUrl: string | null;
  recordKey: string;
  /**
   * A key at the provider that may manage keys: with it, what identities spend goes through a key of their own each,
   * made under the master key. Null: the master key alone.
   */
  adminKey: string | null;
};

/** The limits that nobody sets: they belong together, or to what was promised. */
export const limits = {
  authBodyBytes: 16 * 1024,
  /** A large body is held in blocks of this size. */
  bodyBlockBytes: 64 * 1024,
  /** A body above this is large: it is read in parts, and parsed in pieces. */
  smallBodyBytes: 64 * 1024,
  /** A body up to this is parsed as it comes. A larger one has a turn of the event loop of its own for it. */
  parsedBodyBytes: 4 * 1024,
  /** So long a credential that was good counts as good for reading and parsing a body. The reserve checks it anew. */
  provenMs: 5_000,
  /** Asking a contract about a signature costs calls on the operator's node, and anybody may: so much of one client. */
  contractSignatures: { atOnce: 8, each: 2 },
  /** So does asking for an agent's owner at a sign-in, which takes a signature of any wallet, */
  agentSignIns: { atOnce: 8, each: 2 },
  /** and asking for owners and capacities, which is for sessions, that anybody has many of, and those sign-ins. */
  chainReads: { atOnce: 64, each: 16 },
  /** From admission until a hold that nobody ended has lapsed. */
  leaseMs: 15 * 60_000,
  /** From admission to the end of draining: a minute less than the lease. */
  requestMs: 14 * 60_000,
  /** So many requests of one account may wait for the provider. */
  queueWaitingEach: 32,
  /** What a client must take of an answer that waits for it, over the stalled reader's time. */
  slowestReaderBytesPerS: 8 * 1024,
  /** A whole answer up to this is parsed at once, in 2 ms at most; a larger one in pieces. */
  parsedAnswerBytes: 64 * 1024,
  /** A whole answer up to this is gathered before any of it is sent: an error in it can be told as one. */
  gatheredAnswerBytes: 256 * 1024,
  checkpointMs: 5_000,
  checkpointTokens: 2_000,
  keepAliveMs: 15_000,
  catalogueRefreshMs: 5 * 60_000,
  catalogueMaxAgeMs: 15 * 60_000,
  /** From one reading of the catalogue to the next that a model which is gone may cause, or a list that is not told. */
  goneModelRefreshMs: 10_000,
  /** From one time of asking whether the provider takes our key to the next, while that is not known or not so. */
  keyCheckMs: 30_000,
  sessionMs: 24 * 3_600_000,
  /** How long a request's `Idempotency-Key` is its own, and its answer kept if it is whole and not larger than this. */
  idempotencyMs: 24 * 3_600_000,
  replayedBytes: 1024 * 1024,
  /** What is kept a UTC day, for one account or identity and for all of them. */
  keptBytesEach: 64 * 1024 * 1024,
  keptBytes: 1024 * 1024 * 1024,
  messageMs: 10 * 60_000,
  /** How long an identity's capacity is not read again, and how long it serves where the chain does not answer. */
  capacityFreshMs: 60_000,
  capacityServesMs: 10 * 60_000,
  /** How long an agent's owner is not read again while a session of theirs lives. */
  agentOwnerMs: 5 * 60_000,
  /** How long the contracts' books are not read again. */
  booksMs: 10_000,
  /** How long the sweeper waits for the provider's record of an orphaned request. */
  orphanGraceMs: 30_000,
  /** How long one sweep may begin with holds; what is left is the next one's. */
  sweepMs: 4 * 60_000,
} as const;
