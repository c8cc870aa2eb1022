import type { PostingTerms } from "@inference/ledger/commands";
import { MAX_CLOCK_SKEW_MS } from "@inference/ledger/limits";
import type { Settlement } from "@inference/protocol/use-leaf";
import { MAX_MODELS } from "@inference/protocol/wire/fields";
import * as z from "zod";
import type { KnownChain } from "./chain-directory.ts";
import type { ServiceConfig } from "./operator/service-settings.ts";
import { httpUrl, json, setting, shapeOf, type ValuesOf, valuesOf, whole } from "./setting-fields.ts";
import type { BillingConfig } from "./upstream/billing-url.ts";
import { profileNames } from "./upstream/profiles/all.ts";
import { recordOrigin } from "./upstream/record-url.ts";

/** The configuration, fixed when the gateway starts. Hosts read it from their environment, see `settings.ts`. */
export type GatewayConfig = {
  /** The public URL, without a trailing slash. Signed messages must name it. */
  baseUrl: string;
  /** At least 32 bytes. Checks API keys and sessions, as `previousSecret` does for those that it made. */
  secret: Uint8Array;
  previousSecret?: Uint8Array | undefined;
  /** The chain ids that a signed message may have. The first is the primary chain. */
  chainIds: readonly number[];
  upstream: UpstreamConfig;
  /** How long the gateway goes on reading an answer for its usage after the client has disconnected. */
  drainMs: number;
  /** Memory for the bodies of all requests whose answers have not begun. */
  bodyMemoryBytes: number;
  /** Memory for answers that have arrived from the provider and are not sent yet. */
  answerMemoryBytes: number;
  /** The chains with the token's contracts, as `GET /api/v1/contracts` lists them. The primary chain is first. */
  chains: readonly KnownChain[];
  /** The contract on the primary chain that settles uses. */
  settlement: Settlement;
  operator: OperatorConfig;
  request: RequestLimits;
  /** Whether a call of the ledger is a trip between regions. Accounts then take the ceiling in pieces. */
  ledgerIsFar: boolean;
  posting: PostingTerms;
  relay: { url: string; secret: string } | null;
};

/** Limits that are no settings: they depend on each other, or on what the API promises. */
export const limits = {
  authBodyBytes: 16 * 1024,
  /** The bytes of a larger body count when they arrive. */
  smallBodyBytes: 64 * 1024,
  /** A body up to this size is parsed at once. A larger one waits for its sender's turn. */
  parsedBodyBytes: 4 * 1024,
  /** A larger body is read in another thread. A host without one refuses it. */
  wholeBodyBytes: 1024 * 1024,
  /** A larger body has no fallback models, because a body is read once for each model. */
  fallbackBodyBytes: 512 * 1024,
  /** Time between two turns of free work, such as a page of receipts: it takes a part of the thread. */
  freeWorkEveryMs: 20,
  /** How long a valid credential counts as valid for reading and parsing a body. The reserve checks it again. */
  provenMs: 5_000,
  /** Anyone can cause a contract's signature check, which calls the operator's node. `each` is per client. */
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
  // A whole answer up to this size is parsed (60 ms) before it is sent: an error in it sets the status, and it is kept.
  gatheredAnswerBytes: 1024 * 1024,
  /** The same while memory is short. */
  smallAnswerBytes: 64 * 1024,
  checkpointMs: 60_000,
  excessEvents: 2_000,
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
  /** How long a read of the contracts' totals is used. */
  booksMs: 10_000,
  /** How long the sweeper waits for the provider's record of an orphaned request. */
  orphanGraceMs: 30_000,
  /** How long one sweep may start new holds. The next sweep takes the rest. */
  sweepMs: 4 * 60_000,
} as const;

const MIB = 1024 * 1024;
/** For the body and the queue. The ledger refuses a request that is a minute old; chain and ledger need the rest. */
export const ADMITTED_WITHIN_MS = MAX_CLOCK_SKEW_MS - 12_000;

export const requestSettings = {
  unprovenBodyBytes: setting(
    "UNPROVEN_BODY_BYTES",
    "Largest body that is parsed before its credential is looked up.",
    whole(64 * 1024).default(4 * 1024),
  ),
  chatBodyBytes: setting(
    "CHAT_BODY_BYTES",
    "Largest body of a chat request, and of a request with a file.",
    whole(64 * MIB, 1_024).default(8 * MIB),
  ),
  otherBodyBytes: setting(
    "OTHER_BODY_BYTES",
    "Largest body of any other paid request.",
    whole(64 * MIB, 1_024).default(MIB),
  ),
  bodyReadMs: setting(
    "BODY_READ_MS",
    "Maximum time for a request body to arrive.",
    whole(ADMITTED_WITHIN_MS - 1, 100).default(15_000),
  ),
  answerMs: setting(
    "ANSWER_MS",
    "Maximum time until the provider starts a stream or completes a whole answer (of a large answer, its first MiB).",
    whole(limits.requestMs, 1_000).default(10 * 60_000),
  ),
  streamIdleMs: setting(
    "STREAM_IDLE_MS",
    "Maximum time without a byte from the provider during a stream. Checked every 5 s.",
    whole(limits.requestMs, 1_000).default(120_000),
  ),
  // The stall may begin at the end of the request, and the hold lapses a minute later.
  stalledReaderMs: setting(
    "STALLED_READER_MS",
    "How long a client may read less than 8 KiB/s of a waiting answer before it counts as gone.",
    whole(30_000, 100).default(30_000),
  ),
};
/** Limits of one request. */
export type RequestLimits = ValuesOf<typeof requestSettings> & {
  /** The largest whole answer. It is not held in memory. 2,048 embeddings of 3,072 numbers are 140 MB. */
  answerBytes: number;
};

export const defaultRequestLimits: RequestLimits = {
  ...valuesOf(requestSettings, z.object(shapeOf(requestSettings)).parse({})),
  answerBytes: 1024 * MIB,
};

/** A model's circuit at the provider. */
export const breakerSettings = {
  failures: setting(
    "UPSTREAM_BREAKER_FAILURES",
    "Consecutive failures, one per account, that open a model's circuit breaker. 0 disables it.",
    whole(1e6).default(10),
  ),
  openMs: setting(
    "UPSTREAM_BREAKER_MS",
    "How long the circuit stays open before one request tries the model again.",
    whole(3_600_000).default(5_000),
  ),
};
/** The queue of a model. */
export const queueSettings = {
  atOnce: setting(
    "UPSTREAM_MODEL_REQUESTS",
    "Maximum concurrent requests per model at the provider. Accounts take turns. 0 disables the limit.",
    whole(1e6)
      .default(512)
      .transform((most) => (most === 0 ? Number.POSITIVE_INFINITY : most)),
  ),
  waiting: setting(
    "UPSTREAM_MODEL_WAITING",
    "Maximum queued requests per model. Beyond it, the newest request of the longest queue is refused.",
    whole(1e6).default(1_024),
  ),
  waitMs: setting(
    "UPSTREAM_MODEL_WAIT_MS",
    "Maximum time of a request in the queue.",
    whole(ADMITTED_WITHIN_MS, 1).default(20_000),
  ),
};
/** The failures of a key at the provider. */
export const failureSettings = {
  most: setting(
    "UPSTREAM_FAILURES",
    "Maximum failed requests per key at the provider, below its own limit. 0 disables the limit.",
    whole(1e6).default(18),
  ),
  windowMs: setting(
    "UPSTREAM_FAILURES_MS",
    "How long a failed request counts for UPSTREAM_FAILURES.",
    whole(3_600_000, 1).default(30_000),
  ),
};
const perMinute = (preset: number) =>
  whole(1e9)
    .default(preset)
    .transform((most) => (most === 0 ? null : most));

export const operatorSettings = {
  accessLog: setting(
    "ACCESS_LOG",
    "`1` logs one line for each request, without content, account or address.",
    z.enum(["0", "1"]).default("0"),
  ),
  metricsToken: setting(
    "METRICS_TOKEN",
    "Bearer token for /metrics. Without it, /metrics does not exist.",
    z
      .string()
      .min(16, "must be at least 16 characters, such as the output of `openssl rand -hex 16`")
      .nullable()
      .default(null),
  ),
  addressHeader: setting(
    "CLIENT_ADDRESS_HEADER",
    "Header whose last entry is the client's address, as your reverse proxy sets it.",
    z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header")
      .nullable()
      .default(null),
  ),
  accountRequestsPerMinute: setting(
    "ACCOUNT_REQUESTS_PER_MINUTE",
    "Maximum requests per minute of one account or identity. 0 disables the limit.",
    perMinute(30_000),
  ),
  addressRequestsPerMinute: setting(
    "ADDRESS_REQUESTS_PER_MINUTE",
    "Maximum requests per minute from one client address. 0 disables the limit.",
    perMinute(60_000),
  ),
};
/** The operator's limits for all clients. Null: no limit. */
export type OperatorConfig = ValuesOf<typeof operatorSettings> & {
  breaker: ValuesOf<typeof breakerSettings> | null;
  queue: ValuesOf<typeof queueSettings>;
  failures: ValuesOf<typeof failureSettings> | null;
  /** How long receipts are kept. Their totals are kept forever. */
  receiptMs: number;
  webhookTargets: "public" | "local";
  service: ServiceConfig;
};

/** The models of an alias. */
const aliased = z
  .union(
    [z.string().transform((id) => [id]), z.array(z.string()).min(1).max(MAX_MODELS)],
    `must be the id of a model, or a list of at most ${MAX_MODELS}`,
  )
  .readonly();

export const upstreamSettings = {
  profile: setting(
    "UPSTREAM_PROFILE",
    `The provider: ${profileNames.join(", ")}. It gives settings that are absent the values below.`,
    z.enum(profileNames, `must be one of ${profileNames.join(", ")}`).default("generic"),
  ),
  baseUrl: setting("UPSTREAM_BASE_URL", "URL of the provider's OpenAI-compatible API, including its version.", httpUrl),
  apiKey: setting("UPSTREAM_API_KEY", "Master key at the provider.", z.string()),
  adminKey: setting(
    "UPSTREAM_ADMIN_KEY",
    "Provider key that can manage keys. With it, each identity gets its own key at the provider.",
    z.string().nullable().default(null),
  ),
  subKeys: setting(
    "UPSTREAM_SUB_KEYS",
    "`off`: the provider has no key management at `/api_keys`, so UPSTREAM_ADMIN_KEY is refused.",
    z.enum(["on", "off"]).default("on"),
  ),
  catalogueShape: setting(
    "UPSTREAM_CATALOGUE",
    "Format of the provider's catalogue: `model-spec` has `model_spec.pricing`, `per-token` has `pricing` per token, `auto` detects it.",
    z.enum(["auto", "model-spec", "per-token"]).default("auto"),
  ),
  probe: setting(
    "UPSTREAM_PROBE",
    "Before a start on Node, the cheapest text model is asked for one token. `strict`: the gateway does not start if the provider ignores the output limit, reports no usage, or does not list a model of PRICES_FILE. `warn`: it logs an alert. `off`: it does not ask. With `strict`, a model whose usage exceeds its request's maximum three times is no longer served.",
    z.enum(["strict", "warn", "off"]).default("strict"),
  ),
  betaModels: setting(
    "UPSTREAM_BETA_MODELS",
    "`on`: also offers models that the provider marks as beta. It may refuse them to a key without access.",
    z.enum(["on", "off"]).default("off"),
  ),
  aliases: setting(
    "MODEL_ALIASES",
    `Additional names for models. A list of at most ${MAX_MODELS} ids has fallbacks: in chat, the next model serves if the first cannot.`,
    json('{"our-name":"model-id"}').pipe(z.record(z.string(), aliased)).default({}),
  ),
  chatExtras: setting(
    "UPSTREAM_CHAT_EXTRAS",
    "Fields that are added to every chat request, for example to disable the provider's hidden prompts.",
    json('{"field":value}').default({}),
  ),
  chatOutputField: setting(
    "UPSTREAM_OUTPUT_FIELD",
    "The provider's name for the output limit of a chat request.",
    z.enum(["max_completion_tokens", "max_tokens"]).default("max_completion_tokens"),
  ),
  defaultOutputTokens: setting(
    "RESPONSES_OUTPUT_TOKENS",
    "Output limit of a request to /responses that sets none. The model's maximum and the balance limit it too.",
    whole(1e6, 1).default(32_768),
  ),
  recordUrl: setting(
    "UPSTREAM_RECORD_URL",
    "URL, or path below UPSTREAM_BASE_URL, where the provider reports the usage of answer {id}, or of all answers since time {since}. Read after a crash.",
    z
      .string()
      .regex(/\{(id|since)\}/, "must contain {id} or {since}")
      .refine(
        (text) => text.startsWith("/") || recordOrigin(text) !== null,
        "must be an http(s) URL with {id} and {since} after the host, or a path below UPSTREAM_BASE_URL",
      )
      .nullable()
      .default(null),
  ),
  blockedHeader: setting(
    "UPSTREAM_BLOCKED_HEADER",
    "Response header (value `true`) that marks an image that the provider blocked and does not bill.",
    z.string().nullable().default(null),
  ),
};
export type UpstreamConfig = ValuesOf<typeof upstreamSettings> & {
  /** The key for `recordUrl`, because such records are often for administrators only. */
  recordKey: string;
  /** Null: the provider has no record of its charges, or no key for it was given. */
  billing: BillingConfig | null;
  /** The text of a price file, whose models are offered as far as the provider lists them. */
  pricesFile: string | null;
};
