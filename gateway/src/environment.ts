import type { LedgerClient } from "@inference/ledger/client";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { DollarView } from "@inference/protocol/dollars";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import type { Timers } from "@inference/protocol/timers";
import type { ReadBody, SentBodyJob } from "./inference/requests/body-job.ts";
import type { Tracing } from "./tracing.ts";

/**
 * The interfaces that the host provides. The gateway uses clock, environment, randomness and network only through
 * these.
 */
export type Environment = {
  clock: Clock;
  random: Random;
  ledger: LedgerClient;
  keyValue: KeyValueStore;
  chain: ChainReader;
  /** Where the dollars of the secondary chains are; null until that was read. Absent: there is no node of any. */
  dollars?: () => DollarView | null;
  /** The settler's present work. Absent or undefined: this gateway has none, and nothing is posted. */
  settler?: () => SettlerStatus | undefined;
  /** The newest version of stored rows that this release reads and writes. Absent: one process has all rows. */
  rowVersion?: number;
  /** The pages for people. Absent: they were not built, and `/` answers everybody as it answers programs. */
  dashboard?: DashboardFiles;
  /** Compresses a text. Absent: the host compresses answers by itself. */
  gzip?: (text: string) => Uint8Array<ArrayBuffer>;
  upstream: UpstreamTransport;
  webhooks: WebhookTransport;
  /** Loads the MCP library, which takes 80 ms of processor time. */
  mcpSdk(): Promise<typeof import("./mcp-sdk.ts")>;
  /** Asks the relay, with a URL below RELAY_URL. Absent: payments that programs signed are not taken. */
  relay?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Reads a body in another thread, and takes its bytes. Absent: bodies are read where they arrive, and the host's
   * `mostBodyBytes` must be at most `limits.wholeBodyBytes`.
   */
  readLargeBody?: (job: SentBodyJob) => Promise<ReadBody<unknown>>;
  log: Log;
  /** Absent: no spans are made. The `traceparent` of a paid request goes to the provider either way. */
  tracing?: Tracing | undefined;
  /** The process's own metrics, in Prometheus' text format, ending with a line break. */
  processMetrics?: (() => Promise<string>) | undefined;
  /** Keeps work running after its answer was sent. The host waits for it before it stops. */
  background(work: Promise<unknown>): void;
  timers: Timers;
};

/** The dashboard's files: one page, and the files that it names. */
export type DashboardFiles = {
  page: string;
  /** By name. A name has a hash of the content in it. */
  assets: Readonly<Record<string, DashboardAsset>>;
  /** The names of the files that the pages of /docs load. `theme` is a script that runs before the page is painted. */
  docs: Readonly<Record<"theme" | "script" | "style" | "menu" | "icon", string>>;
};

export type DashboardAsset = {
  /** The media type. */
  type: string;
  text: string;
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
  /** The keys that begin with this, in their order, at most `limit`. */
  list(prefix: string, limit: number): Promise<string[]>;
};

export type UpstreamTransport = {
  /** Sends one request to the provider. Never follows a redirect. Throws `UpstreamFailure`. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
};

export type UpstreamRequest = {
  method: "GET" | "POST" | "PATCH";
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  signal: AbortSignal;
};

export type UpstreamResponse = {
  status: number;
  header(name: string): string | null;
  /** Yields the body's bytes as they arrive. Throws `UpstreamFailure` if it ends early. Leaving the loop cancels it. */
  body: AsyncIterable<Uint8Array>;
};

/** Why the provider sent no answer, or an incomplete one. */
export class UpstreamFailure extends Error {
  override name = "UpstreamFailure";
  readonly stage: "not_sent" | "sent" | "body";
  /** @param stage `not_sent`: no byte reached the provider, so a retry is safe. */
  constructor(stage: "not_sent" | "sent" | "body", message: string) {
    super(message);
    this.stage = stage;
  }
}

export type WebhookTransport = {
  /**
   * Posts a message to a URL that a customer chose, and returns the answer's status. Connects to public addresses only,
   * unless the operator permits local ones, follows no redirect, and does not read the answer's body.
   *
   * @throws WebhookFailure
   */
  post(message: {
    url: string;
    headers: Readonly<Record<string, string>>;
    body: string;
    signal: AbortSignal;
  }): Promise<number>;
};

/** Why a receiver gave no answer. */
export class WebhookFailure extends Error {
  override name = "WebhookFailure";
  override readonly cause: "address_not_public" | "timeout" | "unreachable";
  constructor(cause: WebhookFailure["cause"]) {
    super(cause);
    this.cause = cause;
  }
}

export type Log = (level: "info" | "warn" | "alert", event: string, fields?: LogFields) => void;
export type LogFields = Record<string, string | number | boolean | null>;
