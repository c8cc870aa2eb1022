import { MAX_CLOCK_SKEW_MS } from "@inference/ledger/limits";
import { type Address, isAddress } from "@inference/protocol/credential";
import { DAY_MS } from "@inference/protocol/window";
import * as z from "zod";
import { chainList, type KnownChain, knownChains } from "./chain-directory.ts";
import { defaultDrainMs, defaultRequestLimits, type GatewayConfig, limits } from "./config.ts";
import { largestShare } from "./limits/held-bodies.ts";
import { fillRecordUrl } from "./upstream/record-url.ts";

/**
 * The settings every host reads from its environment, as text. One schema gives the check, the message that names all
 * that is missing or wrong, and the reference.
 */
const json = (what: string) =>
  z.string().transform((text, context) => {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    } catch {
      // Told below, with what is not an object.
    }
    context.addIssue(`must be a JSON object: ${what}`);
    return z.NEVER;
  });
const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
  .transform((text) => text.replace(/\/+$/, ""));
const address = z.custom<Address>((text) => typeof text === "string" && isAddress(text), "must be a 0x address");
const whole = (most: number, least = 0) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= least, `must be at least ${least}`)
    .refine((value) => value <= most, `must be at most ${most}`);
const chainIdList = z
  .string()
  .regex(/^\d{1,15}(, *\d{1,15}){0,15}$/, "must be at most 16 chain ids with commas between them")
  .transform((text) => text.split(",").map(Number));
const anchor = z
  .string()
  .regex(/^\d{1,15}:0x[0-9a-fA-F]{64}$/, "must be the number of a block and its hash, `17000000:0x...`")
  .transform((text) => {
    const [block = "", hash = ""] = text.split(":");
    return { block: Number(block), hash };
  });
const MIB = 1024 * 1024;
/** For a body and a turn: the ledger refuses what came a minute ago, and the chain and the ledger take time too. */
const ADMITTED_WITHIN_MS = MAX_CLOCK_SKEW_MS - 12_000;

export const gatewaySettings = z.object({
  BASE_URL: httpUrl.describe("Where clients reach the gateway; signed messages must name it."),
  GATEWAY_SECRET: z
    .string()
    .regex(/^(0x)?([0-9a-fA-F]{2}){32,}$/, "must be at least 32 random bytes in hex: `openssl rand -hex 32` makes them")
    .describe("Keys and sessions are checked against it: keep it, or every key is void."),
  UPSTREAM_BASE_URL: httpUrl.describe("The provider's OpenAI-compatible API, up to and including its version."),
  UPSTREAM_API_KEY: z.string().min(1, "must not be empty").describe("The master key at the provider."),
  UPSTREAM_ADMIN_KEY: z
    .string()
    .optional()
    .describe("A key at the provider that may manage keys: with it each identity has a key of its own there."),
  UPSTREAM_CATALOGUE: z
    .enum(["auto", "model-spec", "per-token"])
    .default("auto")
    .describe("The shape of the provider's catalogue: `model_spec.pricing`, or `pricing` per token."),
  PRICES_FILE: z.string().optional().describe("A file with models and prices, in place of the provider's catalogue."),
  MODEL_ALIASES: json('{"our-name":"model-id"}')
    .pipe(z.record(z.string(), z.string()))
    .default({})
    .describe("Our own names for models."),
  UPSTREAM_CHAT_EXTRAS: json('{"field":value}')
    .default({})
    .describe("Fields for every chat body, such as those that switch the provider's hidden prompts off."),
  UPSTREAM_OUTPUT_FIELD: z
    .enum(["max_completion_tokens", "max_tokens"])
    .default("max_completion_tokens")
    .describe("What the provider calls a chat request's output limit."),
  UPSTREAM_RECORD_URL: z
    .string()
    .regex(/\{(id|since)\}/, "must contain {id} or {since}")
    .refine((text) => recordOrigin(text) !== null, "must be an http(s) URL, with {id} and {since} after its host")
    .optional()
    .describe("Where the provider tells what the answer {id} used, or all since the time {since}: read after a crash."),
  UPSTREAM_RECORD_KEY: z.string().optional().describe("The key for those records, if it is not UPSTREAM_API_KEY."),
  UPSTREAM_BLOCKED_HEADER: z
    .string()
    .optional()
    .describe("The header (value `true`) by which the provider marks an image it blocked and does not bill."),
  PRIMARY_RPC_URL: httpUrl.describe("A node of the primary chain."),
  PRIMARY_CHAIN_ID: whole(2 ** 48).describe("The primary chain's id: checked against the node."),
  PRIMARY_ANCHOR: anchor
    .optional()
    .describe("An old block of the primary chain and its hash, `17000000:0x...`: a node with another is not believed."),
  SIGN_IN_CHAIN_IDS: chainIdList
    .optional()
    .describe(
      "Other chains that a signed message may name, such as `31338,31339`; without it those in CHAINS. A contract's wallet signs for the primary chain alone.",
    ),
  CHAINS: chainList
    .optional()
    .describe(
      "Every chain with its contracts, for `GET /api/v1/contracts` and the status: what `npm run deploy -- <file> --send` prints. `rpcUrl` may be added to each, a public node for clients.",
    ),
  SETTLEMENT_ADDRESS: address.describe("InferenceSettlement on the primary chain."),
  SETTLEMENT_START_BLOCK: whole(2 ** 48)
    .default(0)
    .describe("The block before the contract's first event."),
  TOKEN_ADDRESS: address.optional().describe("InferenceToken, for the status page."),
  MINTER_ADDRESS: address.optional().describe("TokenMinter, for the status page."),
  STABLECOIN_ADDRESS: address.optional().describe("The dollar that the minter takes, for the status page."),
  BRIDGE_ADDRESS: address.optional().describe("TokenBridge, the same on every chain, for the status page."),
  POOL_ADDRESS: address
    .optional()
    .describe("InferencePool, for the status page: without it the settlement contract is asked, which names the same."),
  REGISTRY_ADDRESS: address.optional().describe("AgentRegistry, for the status page."),
  CONFIRMATIONS: z
    .union([z.literal("finalized"), whole(100_000)], "must be `finalized` or a whole number of blocks")
    .default("finalized")
    .describe("When an activation is credited: at finality, or nearer, at the operator's own risk."),
  WITNESS_RPC_URL: httpUrl
    .optional()
    .describe("A second node, somebody else's: nothing is credited unless both agree."),
  CHAIN_STALLED_AFTER_MS: whole(86_400_000)
    .optional()
    .describe(
      "The age of the latest block from which on the chain counts as stopped; for chains that make blocks steadily.",
    ),
  METRICS_TOKEN: z
    .string()
    .min(16, "must be at least 16 letters: `openssl rand -hex 16` makes them")
    .optional()
    .describe("Who sends it as a bearer token may read /metrics. Without it there are no /metrics."),
  CLIENT_ADDRESS_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header")
    .optional()
    .describe("The header whose last entry is the client's address, where a proxy of yours is in front."),
  ACCOUNT_REQUESTS_PER_MINUTE: whole(1e9)
    .default(30_000)
    .describe("The most requests of one account or identity; 0 for any number."),
  ADDRESS_REQUESTS_PER_MINUTE: whole(1e9)
    .default(60_000)
    .describe("The most requests from one client address; 0 for any number."),
  UPSTREAM_BREAKER_FAILURES: whole(1e6)
    .default(10)
    .describe(
      "The provider's failures in a row after which a model is not asked for, one of each account; 0 for no number of them.",
    ),
  UPSTREAM_BREAKER_MS: whole(3_600_000)
    .default(5_000)
    .describe("For how long it is not asked for, before one request tries it again."),
  UPSTREAM_MODEL_REQUESTS: whole(1e6)
    .default(512)
    .describe("The most requests of one model at the provider at a time; accounts take turns. 0 for any number."),
  UPSTREAM_MODEL_WAITING: whole(1e6)
    .default(1_024)
    .describe(
      "The most requests of one model that wait for their turn; past it the newest of the longest line is refused.",
    ),
  UPSTREAM_MODEL_WAIT_MS: whole(ADMITTED_WITHIN_MS, 1)
    .default(20_000)
    .describe("How long a request waits for its turn."),
  UNPROVEN_BODY_BYTES: whole(64 * 1024)
    .default(defaultRequestLimits.unprovenBodyBytes)
    .describe("The largest body that is parsed before its credential was looked up."),
  CHAT_BODY_BYTES: whole(64 * MIB, 1_024)
    .default(defaultRequestLimits.chatBodyBytes)
    .describe("The largest body of a chat."),
  OTHER_BODY_BYTES: whole(64 * MIB, 1_024)
    .default(defaultRequestLimits.otherBodyBytes)
    .describe("The largest body of the other paid routes."),
  BODY_READ_MS: whole(ADMITTED_WITHIN_MS, 100)
    .default(defaultRequestLimits.bodyReadMs)
    .describe("How long a body may take to arrive, however it trickles in."),
  ANSWER_MS: whole(limits.requestMs, 1_000)
    .default(defaultRequestLimits.answerMs)
    .describe(
      "How long the provider may take to begin a stream, or to send a whole answer (of a large one, its first 256 KiB).",
    ),
  STREAM_IDLE_MS: whole(limits.requestMs, 1_000)
    .default(defaultRequestLimits.streamIdleMs)
    .describe("How long the provider may send nothing amid a stream; looked at every five seconds."),
  // It may begin as the request's time ends, and its hold lapses a minute later.
  STALLED_READER_MS: whole(30_000, 100)
    .default(defaultRequestLimits.stalledReaderMs)
    .describe(
      "How long a client may read less than 8 KiB a second of an answer that waits for it, before it counts as gone.",
    ),
  DRAIN_MS: whole(limits.requestMs)
    .default(defaultDrainMs)
    .describe("How long an answer is read on for its usage after its client has gone. In a Worker 25000 at most."),
  RECEIPT_RETENTION_DAYS: whole(36_500, 2)
    .default(400)
    .describe("How long the receipt of each request is kept. What receipts come to is kept for ever."),
  CHAIN_POLL_MS: whole(3_600_000).default(2_000).describe("How often the chain is read."),
});
export type GatewaySettings = z.infer<typeof gatewaySettings>;

/** Parses settings, or throws `SettingsError` with every problem in one message. Empty values count as absent. */
export function parseSettings<S extends z.ZodObject>(
  schema: S,
  environment: Record<string, string | undefined>,
): z.infer<S> {
  const given = Object.fromEntries(
    Object.keys(schema.shape).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data as z.infer<S>;
  const problems = result.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    return `  ${name}: ${name in given ? issue.message : "is missing"} (${schema.shape[name]?.description ?? ""})`;
  });
  throw new SettingsError(`The gateway cannot start. Its settings:\n${[...new Set(problems)].join("\n")}`);
}

/** Where a record URL leads, whatever it is filled with; null if that is nowhere, or depends on it. */
function recordOrigin(template: string): string | null {
  const origins = ["one", "two"].map((upstreamId) => {
    const url = fillRecordUrl(template, { upstreamId, admittedAt: 0 });
    return URL.canParse(url) && /^https?:/i.test(url) ? new URL(url).origin : null;
  });
  return origins[0] === origins[1] ? (origins[0] ?? null) : null;
}

/** The master key goes to the provider and nowhere else: another host's records have a key of their own. */
function checkRecordKey({ UPSTREAM_RECORD_URL: url, UPSTREAM_RECORD_KEY: key, ...settings }: GatewaySettings): void {
  if (url === undefined || key !== undefined) return;
  if (recordOrigin(url) === new URL(settings.UPSTREAM_BASE_URL).origin) return;
  throw new SettingsError(
    "The gateway cannot start. Its settings:\n  UPSTREAM_RECORD_KEY: is missing, and UPSTREAM_RECORD_URL is not on " +
      "the host of UPSTREAM_BASE_URL, where alone UPSTREAM_API_KEY may go",
  );
}

/** Where nobody may hold so much of the memory for bodies, such a body would be told to come later for ever. */
function checkBodies({ CHAT_BODY_BYTES, OTHER_BODY_BYTES }: GatewaySettings, heldBodyBytes: number): void {
  const most = largestShare(heldBodyBytes);
  const tooLarge = Object.entries({ CHAT_BODY_BYTES, OTHER_BODY_BYTES }).filter(([, bytes]) => bytes > most);
  if (tooLarge.length === 0) return;
  const problems = tooLarge.map(([name]) => `  ${name}: must be at most ${most} on this host`);
  throw new SettingsError(`The gateway cannot start. Its settings:\n${problems.join("\n")}`);
}

/** What the host ends before that would never be settled here. */
function checkDrain({ DRAIN_MS }: GatewaySettings, mostDrainMs: number): void {
  if (DRAIN_MS <= mostDrainMs) return;
  throw new SettingsError(
    `The gateway cannot start. Its settings:\n  DRAIN_MS: must be at most ${mostDrainMs} on this host, which ends a ` +
      "request soon after its client has gone",
  );
}

/** A request that came and waited for longer than it may would be refused for its age, when its turn has come. */
function checkTimes(settings: GatewaySettings): void {
  const { BODY_READ_MS, UPSTREAM_MODEL_REQUESTS, UPSTREAM_MODEL_WAIT_MS } = settings;
  const waitMs = UPSTREAM_MODEL_REQUESTS === 0 ? 0 : UPSTREAM_MODEL_WAIT_MS;
  if (BODY_READ_MS + waitMs <= ADMITTED_WITHIN_MS) return;
  throw new SettingsError(
    "The gateway cannot start. Its settings:\n  BODY_READ_MS and UPSTREAM_MODEL_WAIT_MS: must be at most " +
      `${ADMITTED_WITHIN_MS} together`,
  );
}

/** The contracts as everybody names them, and the setting in which each one's address is. */
export const contractSettings = {
  inferenceToken: "TOKEN_ADDRESS",
  tokenMinter: "MINTER_ADDRESS",
  inferenceSettlement: "SETTLEMENT_ADDRESS",
  stablecoin: "STABLECOIN_ADDRESS",
  inferencePool: "POOL_ADDRESS",
  agentRegistry: "REGISTRY_ADDRESS",
  tokenBridge: "BRIDGE_ADDRESS",
} as const;

/** @param host.mostDrainMs How long the host can keep reading for a client that has gone. */
export function configOf(
  settings: GatewaySettings,
  host: Pick<GatewayConfig, "heldBodyBytes" | "heldAnswerBytes"> & { mostDrainMs: number; pricesFile: string | null },
): GatewayConfig {
  checkRecordKey(settings);
  checkBodies(settings, host.heldBodyBytes);
  checkTimes(settings);
  checkDrain(settings, host.mostDrainMs);
  const chains = chainsOf(settings);
  return {
    baseUrl: settings.BASE_URL,
    secret: Uint8Array.from(Buffer.from(settings.GATEWAY_SECRET.replace(/^0x/, ""), "hex")),
    chainIds: [
      ...new Set([settings.PRIMARY_CHAIN_ID, ...(settings.SIGN_IN_CHAIN_IDS ?? chains.map(({ chainId }) => chainId))]),
    ],
    drainMs: settings.DRAIN_MS,
    heldBodyBytes: host.heldBodyBytes,
    heldAnswerBytes: host.heldAnswerBytes,
    upstream: {
      baseUrl: settings.UPSTREAM_BASE_URL,
      apiKey: settings.UPSTREAM_API_KEY,
      catalogueShape: settings.UPSTREAM_CATALOGUE,
      pricesFile: host.pricesFile,
      aliases: settings.MODEL_ALIASES,
      chatExtras: settings.UPSTREAM_CHAT_EXTRAS,
      chatOutputField: settings.UPSTREAM_OUTPUT_FIELD,
      recordUrl: settings.UPSTREAM_RECORD_URL ?? null,
      recordKey: settings.UPSTREAM_RECORD_KEY ?? settings.UPSTREAM_API_KEY,
      blockedHeader: settings.UPSTREAM_BLOCKED_HEADER ?? null,
      adminKey: settings.UPSTREAM_ADMIN_KEY ?? null,
    },
    chains,
    operator: {
      metricsToken: settings.METRICS_TOKEN ?? null,
      addressHeader: settings.CLIENT_ADDRESS_HEADER ?? null,
      accountRequestsPerMinute: settings.ACCOUNT_REQUESTS_PER_MINUTE || null,
      addressRequestsPerMinute: settings.ADDRESS_REQUESTS_PER_MINUTE || null,
      breaker:
        settings.UPSTREAM_BREAKER_FAILURES === 0
          ? null
          : { failures: settings.UPSTREAM_BREAKER_FAILURES, openMs: settings.UPSTREAM_BREAKER_MS },
      queue:
        settings.UPSTREAM_MODEL_REQUESTS === 0
          ? null
          : {
              atOnce: settings.UPSTREAM_MODEL_REQUESTS,
              waiting: settings.UPSTREAM_MODEL_WAITING,
              waitMs: settings.UPSTREAM_MODEL_WAIT_MS,
            },
      receiptMs: settings.RECEIPT_RETENTION_DAYS * DAY_MS,
    },
    request: {
      unprovenBodyBytes: settings.UNPROVEN_BODY_BYTES,
      chatBodyBytes: settings.CHAT_BODY_BYTES,
      otherBodyBytes: settings.OTHER_BODY_BYTES,
      bodyReadMs: settings.BODY_READ_MS,
      answerMs: settings.ANSWER_MS,
      answerBytes: defaultRequestLimits.answerBytes,
      streamIdleMs: settings.STREAM_IDLE_MS,
      stalledReaderMs: settings.STALLED_READER_MS,
    },
  };
}

function chainsOf(settings: GatewaySettings): readonly KnownChain[] {
  const named = Object.entries(contractSettings)
    .map(([name, setting]) => [name, settings[setting]])
    .filter((entry): entry is [string, Address] => entry[1] !== undefined);
  const primary = { chainId: settings.PRIMARY_CHAIN_ID, contracts: Object.fromEntries(named) };
  const { chains, problem } = knownChains(primary, settings.CHAINS);
  if (problem === undefined) return chains;
  throw new SettingsError(`The gateway cannot start. Its settings:\n  CHAINS: ${problem}`);
}

export class SettingsError extends Error {
  override name = "SettingsError";
}
