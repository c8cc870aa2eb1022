import { MAX_TRANSACTIONS } from "@inference/ledger/limits";
import type { Address } from "@inference/protocol/credential";
import type { FollowedChains } from "@inference/protocol/dollars";
import { parseUsd } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import { DAY_MS } from "@inference/protocol/window";
import * as z from "zod";
import { chainList, type KnownChain, knownChains } from "./chain-directory.ts";
import {
  ADMITTED_WITHIN_MS,
  breakerSettings,
  defaultRequestLimits,
  failureSettings,
  type GatewayConfig,
  limits,
  operatorSettings,
  queueSettings,
  requestSettings,
  upstreamSettings,
} from "./config.ts";
import { followedChains } from "./followed-chains.ts";
import { largestShare } from "./load/body-memory.ts";
import { serviceSettings } from "./operator/service-settings.ts";
import { address, anchor, chainIdList, httpUrl, json, shapeOf, usd, valuesOf, whole } from "./setting-fields.ts";
import { billingSettings } from "./upstream/billing-url.ts";
import { profiles } from "./upstream/profiles/all.ts";
import { recordOrigin } from "./upstream/record-url.ts";

const secret = z
  .string()
  .regex(
    /^(0x)?([0-9a-fA-F]{2}){32,}$/,
    "must be at least 32 random bytes in hex, such as the output of `openssl rand -hex 32`",
  );

/**
 * The settings that every host reads from its environment. One schema gives the validation, the message that lists
 * everything missing or invalid, and the reference page.
 */
export const gatewaySettings = z.object({
  BASE_URL: httpUrl.describe("Public URL of the gateway. Signed messages must name it."),
  GATEWAY_SECRET: secret.describe(
    "Secret that API keys, sessions and signed receipts depend on. If it changes, all keys and sessions become invalid, " +
      "unless GATEWAY_SECRET_PREVIOUS has the old one, and the settlement contract needs the new receipt key.",
  ),
  GATEWAY_SECRET_PREVIOUS: secret
    .optional()
    .describe(
      "The secret before GATEWAY_SECRET. Its keys, sessions and sealed answers stay valid, and webhooks are signed with both.",
    ),
  ...shapeOf(upstreamSettings),
  PRICES_FILE: z
    .string()
    .optional()
    .describe("File with the models to offer and their prices, for a provider that lists none or other prices."),
  UPSTREAM_RECORD_KEY: z
    .string()
    .optional()
    .describe("Key for UPSTREAM_RECORD_URL. Without it, UPSTREAM_ADMIN_KEY is used, or UPSTREAM_API_KEY."),
  ...shapeOf(billingSettings),
  PRIMARY_RPC_URL: httpUrl.describe("RPC URL of the primary chain."),
  PRIMARY_CHAIN_ID: whole(2 ** 48).describe("Chain id of the primary chain. It is compared with the node's chain id."),
  PRIMARY_ANCHOR: anchor
    .optional()
    .describe(
      "Number and hash of an old block of the primary chain, `17000000:0x...`. A node with another hash is rejected.",
    ),
  SIGN_IN_CHAIN_IDS: chainIdList
    .optional()
    .describe(
      "Other chain ids that a signed message may name, such as `31338,31339`. Without it, the chains in CHAINS. A contract wallet can sign for the primary chain only.",
    ),
  CHAINS: chainList
    .optional()
    .describe(
      "All chains and their contracts, for `GET /api/v1/contracts` and the status page, as `npm run deploy:contracts -- <file> --send` prints them. Each chain may have an `rpcUrl`, a public node for clients.",
    ),
  SETTLEMENT_ADDRESS: address.describe("InferenceSettlement on the primary chain."),
  SETTLEMENT_START_BLOCK: whole(2 ** 48)
    .default(0)
    .describe("A block before the contract's first event."),
  TOKEN_ADDRESS: address.optional().describe("InferenceToken, for the status page."),
  MINTER_ADDRESS: address.optional().describe("TokenMinter, for the status page."),
  STABLECOIN_ADDRESS: address.optional().describe("Stablecoin that the minter takes, for the status page."),
  BRIDGE_ADDRESS: address
    .optional()
    .describe("TokenBridge, for the status page. It has the same address on every chain."),
  POOL_ADDRESS: address
    .optional()
    .describe("InferencePool, for the status page. Without it, the address is read from the settlement contract."),
  REGISTRY_ADDRESS: address.optional().describe("AgentRegistry, for the status page."),
  CONFIRMATIONS: z
    .union([z.literal("finalized"), whole(100_000)], "must be `finalized` or a whole number of blocks")
    .default("finalized")
    .describe("When an activation is credited: `finalized`, or after this number of blocks, at the operator's risk."),
  SECONDARY_RPC_URLS: json('{"8453":"https://node.example"}')
    .pipe(z.record(z.string().regex(/^[1-9][0-9]*$/), httpUrl))
    .default({})
    .describe(
      "RPC URLs of secondary chains in CHAINS, by chain id. The status page then shows the reserves of these chains, and activations on their way from there.",
    ),
  WITNESS_RPC_URL: httpUrl
    .optional()
    .describe("RPC URL of a second, independent node. Nothing is credited unless both nodes agree."),
  CHAIN_STALLED_AFTER_MS: whole(86_400_000)
    .optional()
    .describe("Age of the latest block from which the chain counts as stalled. For chains with regular blocks."),
  SETTLER_PRIVATE_KEY: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be a private key: 0x and 64 hexadecimal digits")
    .transform((text) => text as `0x${string}`)
    .optional()
    .describe("Private key of the settlement contract's settler, which pays the gas. Without it nothing is posted."),
  POST_USD: usd.default("1").describe("Amount in dollars from which an account's uses are posted on chain at once."),
  POST_MIN_USD: usd
    .default("0.01")
    .describe("Amount in dollars from which they are posted after POST_INTERVAL_MS. Less waits for 30 days."),
  POST_INTERVAL_MS: whole(999_999_999)
    .default(86_400_000)
    .describe("Age of the oldest use at which an account's uses are posted."),
  SETTLER_WINDOW: whole(MAX_TRANSACTIONS, 1)
    .default(16)
    .describe("Maximum transactions of the settler that are not final."),
  ...shapeOf(serviceSettings),
  ...shapeOf(operatorSettings),
  ...shapeOf(breakerSettings),
  ...shapeOf(queueSettings),
  ...shapeOf(failureSettings),
  ...shapeOf(requestSettings),
  DRAIN_MS: whole(limits.requestMs)
    .default(25_000)
    .describe(
      "How long the gateway reads an answer on for its usage after the client has gone. At most 25000 in a Worker.",
    ),
  RECEIPT_RETENTION_DAYS: whole(36_500, 2)
    .default(400)
    .describe("How many days a receipt, its use and the record of its debit are kept. Totals are kept forever."),
  WEBHOOK_TARGETS: z
    .enum(["public", "local"])
    .default("public")
    .describe(
      "Where webhooks may point. `local` also permits this machine, over http, for development: customers could then reach its services.",
    ),
  RELAY_URL: httpUrl
    .nullable()
    .default(null)
    .describe(
      "URL of the keeper's relay, which sends top-ups and x402 payments that programs signed. A gateway without this URL takes neither.",
    ),
  RELAY_SECRET: z
    .string()
    .min(32, "must be at least 32 characters, such as the output of `openssl rand -hex 32`")
    .nullable()
    .default(null)
    .describe("Secret that the gateway and the keeper's relay share. Needed with RELAY_URL."),
  CHAIN_POLL_MS: whole(3_600_000).default(2_000).describe("Interval between two reads of the chain."),
});
export type GatewaySettings = z.infer<typeof gatewaySettings>;

/**
 * Parses settings, or throws `SettingsError` with every problem in one message. Empty values count as absent. An absent
 * one has the value of UPSTREAM_PROFILE, else its default.
 */
export function parseSettings<S extends z.ZodObject>(
  schema: S,
  environment: Record<string, string | undefined>,
): z.infer<S> {
  const all = Object.keys(schema.shape).map((name) => [name, ownValue(environment, name) ?? ""] as const);
  const given = Object.fromEntries(all.filter(([, value]) => value !== ""));
  const result = schema.safeParse({ ...ownValue(profiles, given.UPSTREAM_PROFILE ?? ""), ...given });
  if (result.success) return result.data as z.infer<S>;
  const problems = result.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const why = ownValue(given, name) === undefined ? "is missing" : issue.message;
    return `${name}: ${why} (${ownValue(schema.shape, name)?.description ?? ""})`;
  });
  return refuse([...new Set(problems)]);
}

function refuse(problems: readonly string[]): never {
  const lines = problems.map((problem) => `\n  ${problem}`);
  throw new SettingsError(`The gateway cannot start. Invalid settings:${lines.join("")}`);
}

/** The provider's keys are sent to the provider only. Records on another host need their own key. */
function checkRecordKey({ UPSTREAM_RECORD_KEY: key, ...settings }: GatewaySettings): void {
  const url = recordUrlOf(settings);
  if (url === null || key !== undefined) return;
  if (recordOrigin(url) === new URL(settings.UPSTREAM_BASE_URL).origin) return;
  refuse([
    "UPSTREAM_RECORD_KEY: is missing. UPSTREAM_RECORD_URL is on another host than UPSTREAM_BASE_URL, and " +
      "UPSTREAM_API_KEY is sent to that host only",
  ]);
}

type RecordSettings = Pick<GatewaySettings, "UPSTREAM_RECORD_URL" | "UPSTREAM_BASE_URL">;

function recordUrlOf({ UPSTREAM_RECORD_URL: url, UPSTREAM_BASE_URL: base }: RecordSettings): string | null {
  return url?.startsWith("/") ? `${base}${url}` : url;
}

function billingOf({ UPSTREAM_BILLING_URL: url, UPSTREAM_BILLING_KEY: key, ...settings }: GatewaySettings) {
  if (key === null) return null;
  if (url !== null) return { key, url: url.startsWith("/") ? `${settings.UPSTREAM_BASE_URL}${url}` : url };
  return refuse([
    "UPSTREAM_BILLING_KEY: cannot be used without UPSTREAM_BILLING_URL, because UPSTREAM_PROFILE has no record of the " +
      "provider's charges",
  ]);
}

function checkAdminKey({ UPSTREAM_ADMIN_KEY: key, UPSTREAM_SUB_KEYS: subKeys }: GatewaySettings): void {
  if (key === null || subKeys === "on") return;
  refuse([
    "UPSTREAM_ADMIN_KEY: cannot be used, because UPSTREAM_SUB_KEYS is `off`: this provider makes no keys for the gateway. " +
      "Leave it out. A key for UPSTREAM_RECORD_URL is UPSTREAM_RECORD_KEY",
  ]);
}

/** A body above one sender's share of the memory would be refused with "retry later" forever. */
function checkBodies({ CHAT_BODY_BYTES, OTHER_BODY_BYTES }: GatewaySettings, host: HostLimits): void {
  const most = Math.min(largestShare(host.bodyMemoryBytes), host.mostBodyBytes ?? Number.POSITIVE_INFINITY);
  const tooLarge = Object.entries({ CHAT_BODY_BYTES, OTHER_BODY_BYTES }).filter(([, bytes]) => bytes > most);
  if (tooLarge.length > 0) refuse(tooLarge.map(([name]) => `${name}: must be at most ${most} on this host`));
}

function relayOf({ RELAY_URL: url, RELAY_SECRET: secret }: GatewaySettings): GatewayConfig["relay"] {
  if (url === null) return null;
  return secret === null ? refuse(["RELAY_SECRET: is missing. RELAY_URL needs it"]) : { url, secret };
}

/** A host that ends a request earlier would leave it unsettled. */
function checkDrain({ DRAIN_MS }: GatewaySettings, mostDrainMs: number): void {
  if (DRAIN_MS <= mostDrainMs) return;
  refuse([
    `DRAIN_MS: must be at most ${mostDrainMs} on this host, which ends a request soon after its client has gone`,
  ]);
}

/** A request that waited longer would be refused for its age when its turn has come. */
function checkTimes({ BODY_READ_MS, UPSTREAM_MODEL_WAIT_MS }: GatewaySettings): void {
  if (BODY_READ_MS + UPSTREAM_MODEL_WAIT_MS <= ADMITTED_WITHIN_MS) return;
  refuse([`BODY_READ_MS and UPSTREAM_MODEL_WAIT_MS: must be at most ${ADMITTED_WITHIN_MS} together`]);
}

/** The contracts' names, and the setting that holds each address. */
export const contractSettings = {
  inferenceToken: "TOKEN_ADDRESS",
  tokenMinter: "MINTER_ADDRESS",
  inferenceSettlement: "SETTLEMENT_ADDRESS",
  stablecoin: "STABLECOIN_ADDRESS",
  inferencePool: "POOL_ADDRESS",
  agentRegistry: "REGISTRY_ADDRESS",
  tokenBridge: "BRIDGE_ADDRESS",
} as const;

/** The gateway's secrets as bytes. */
export function secretsOf({
  GATEWAY_SECRET: secret,
  GATEWAY_SECRET_PREVIOUS: previous,
}: Pick<GatewaySettings, "GATEWAY_SECRET" | "GATEWAY_SECRET_PREVIOUS">): Pick<
  GatewayConfig,
  "secret" | "previousSecret"
> {
  return { secret: bytesOf(secret), previousSecret: previous === undefined ? undefined : bytesOf(previous) };
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(hex.replace(/^0x/, ""), "hex"));
}

/** The limits of a host. */
type HostLimits = Pick<GatewayConfig, "bodyMemoryBytes" | "answerMemoryBytes"> & {
  /** The longest time that the host can read on after a client has gone. */
  mostDrainMs: number;
  /** The largest body that the host reads; absent if it can read any. */
  mostBodyBytes?: number;
  pricesFile: string | null;
};

export function configOf(settings: GatewaySettings, host: HostLimits): GatewayConfig {
  checkRecordKey(settings);
  checkAdminKey(settings);
  checkBodies(settings, host);
  checkTimes(settings);
  checkDrain(settings, host.mostDrainMs);
  const chains = chainsOf(settings);
  followedOf(settings, chains);
  return {
    baseUrl: settings.BASE_URL,
    ...secretsOf(settings),
    chainIds: [
      ...new Set([settings.PRIMARY_CHAIN_ID, ...(settings.SIGN_IN_CHAIN_IDS ?? chains.map(({ chainId }) => chainId))]),
    ],
    drainMs: settings.DRAIN_MS,
    bodyMemoryBytes: host.bodyMemoryBytes,
    answerMemoryBytes: host.answerMemoryBytes,
    upstream: {
      ...valuesOf(upstreamSettings, settings),
      pricesFile: host.pricesFile,
      recordUrl: recordUrlOf(settings),
      recordKey: settings.UPSTREAM_RECORD_KEY ?? settings.UPSTREAM_ADMIN_KEY ?? settings.UPSTREAM_API_KEY,
      billing: billingOf(settings),
    },
    chains,
    settlement: { chainId: settings.PRIMARY_CHAIN_ID, address: settings.SETTLEMENT_ADDRESS },
    operator: {
      ...valuesOf(operatorSettings, settings),
      breaker: settings.UPSTREAM_BREAKER_FAILURES === 0 ? null : valuesOf(breakerSettings, settings),
      queue: valuesOf(queueSettings, settings),
      failures: settings.UPSTREAM_FAILURES === 0 ? null : valuesOf(failureSettings, settings),
      service: valuesOf(serviceSettings, settings),
      receiptMs: settings.RECEIPT_RETENTION_DAYS * DAY_MS,
      webhookTargets: settings.WEBHOOK_TARGETS,
    },
    request: { ...valuesOf(requestSettings, settings), answerBytes: defaultRequestLimits.answerBytes },
    ledgerIsFar: false,
    relay: relayOf(settings),
    posting: {
      postNanoUsd: parseUsd(settings.POST_USD) ?? 0,
      leastNanoUsd: parseUsd(settings.POST_MIN_USD) ?? 0,
      intervalMs: settings.POST_INTERVAL_MS,
    },
  };
}

function chainsOf(settings: GatewaySettings): readonly KnownChain[] {
  const named = Object.entries(contractSettings)
    .map(([name, setting]) => [name, settings[setting]])
    .filter((entry): entry is [string, Address] => entry[1] !== undefined);
  const primary = {
    chainId: settings.PRIMARY_CHAIN_ID,
    startBlock: settings.SETTLEMENT_START_BLOCK,
    contracts: Object.fromEntries(named),
  };
  const { chains, problem } = knownChains(primary, settings.CHAINS);
  return problem === undefined ? chains : refuse([`CHAINS: ${problem}`]);
}

/** The chains whose dollars are followed; null: none. */
export function followedOf(settings: GatewaySettings, chains = chainsOf(settings)): FollowedChains | null {
  const { followed, problem } = followedChains(chains, settings.PRIMARY_RPC_URL, settings.SECONDARY_RPC_URLS);
  return problem === undefined ? followed : refuse([`SECONDARY_RPC_URLS: ${problem}`]);
}

export class SettingsError extends Error {
  override name = "SettingsError";
}
