import type { Address } from "@inference/protocol/credential";
import type { CatalogueShape } from "./metering/catalogue.ts";

/** What the gateway is told once, at its start. Hosts read it from their environment, see `settings.ts`. */
export type GatewayConfig = {
  /** Where clients reach us, without a trailing slash: what signed messages must name. */
  baseUrl: string;
  /** At least 32 bytes; keys and sessions are checked against it. */
  secret: Uint8Array;
  /** Chains whose ids a signed message may carry; the first is the primary chain. */
  chainIds: readonly number[];
  upstream: UpstreamConfig;
  /** How long an answer is read on for its usage after its client has gone: what the host can keep running. */
  drainMs: number;
  /** Contract addresses by chain id and name, shown in the status. */
  contracts: Record<number, Record<string, Address>>;
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
};

/** Every limit has a number. */
export const limits = {
  chatBodyBytes: 8 * 1024 * 1024,
  otherBodyBytes: 1024 * 1024,
  authBodyBytes: 16 * 1024,
  /** For the whole of a body, however it trickles in. */
  bodyReadMs: 15_000,
  /** A body above this is read for credentials alone that their partition knows. */
  unprovenBodyBytes: 64 * 1024,
  /** Of all requests whose answers have not begun: what they may hold of this process's memory. */
  heldBodyBytes: 256 * 1024 * 1024,
  /** Asking a contract about a signature costs calls on the operator's node, and anybody may ask. */
  contractSignaturesAtOnce: 8,
  /** From admission until a hold that nobody ended has lapsed. */
  leaseMs: 15 * 60_000,
  /** From admission to the end of draining: a minute less than the lease. */
  requestMs: 14 * 60_000,
  /** From sending a request to the provider's headers: buffered answers come whole. */
  upstreamHeadersMs: 10 * 60_000,
  upstreamIdleMs: 120_000,
  answerBytes: 64 * 1024 * 1024,
  checkpointMs: 5_000,
  checkpointTokens: 2_000,
  keepAliveMs: 15_000,
  /** How long a reader may stand still before relaying to it stops; metering goes on. */
  stalledReaderMs: 30_000,
  catalogueRefreshMs: 5 * 60_000,
  catalogueMaxAgeMs: 15 * 60_000,
  /** From one reading of the catalogue to the next that a model which is gone may cause. */
  goneModelRefreshMs: 10_000,
  sessionMs: 24 * 3_600_000,
  messageMs: 10 * 60_000,
  /** How long the sweeper waits for the provider's record of an orphaned request. */
  orphanGraceMs: 30_000,
  /** How long one sweep may begin with holds; what is left is the next one's. */
  sweepMs: 4 * 60_000,
} as const;
