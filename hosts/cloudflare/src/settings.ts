import { type GatewayConfig, limits } from "@inference/gateway/config";
import { address } from "@inference/gateway/setting-fields";
import { configOf, gatewaySettings, parseSettings } from "@inference/gateway/settings";
import { chainPartition, type Partition } from "@inference/ledger/partition";
import { DAY_MS } from "@inference/protocol/window";
import * as z from "zod";

/**
 * The limits of a Worker. It runs for at most 30 s after its client has disconnected: up to 25 s to read the provider's
 * answer, the rest to settle. It has 128 MB of memory, including its code, and one thread for all its requests.
 */
const WORKER_LIMITS = {
  mostDrainMs: 25_000,
  mostBodyBytes: limits.wholeBodyBytes,
  bodyMemoryBytes: 16 * 1024 * 1024,
  answerMemoryBytes: 16 * 1024 * 1024,
};

/** The Worker's bindings, with variables and secrets. */
type Given = Readonly<Record<string, unknown>>;

/** The gateway's settings, and those of a host of objects. */
export const edgeSettings = z.object({
  ...gatewaySettings.shape,
  SETTLER_ADDRESS: address
    .optional()
    .describe("Address of the settler whose key the service SETTLER_KEY has, in place of SETTLER_PRIVATE_KEY."),
  LOCATION_HINT: z
    .enum(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"])
    .optional()
    .describe(
      "Region where new objects are placed (Cloudflare's location hints, such as `weur`). Without it, near who first called them.",
    ),
  JURISDICTION: z
    .enum(["eu", "us", "fedramp"])
    .optional()
    .describe(
      "Jurisdiction that the objects never leave. Choose it before the first deployment: another one, or none, begins with empty objects.",
    ),
});
export type EdgeSettings = z.infer<typeof edgeSettings>;

/** Throws `SettingsError` with everything that is missing or invalid. */
export function settingsOf(given: Given): EdgeSettings {
  const { CHAT_BODY_BYTES, ...others } = textsOf(given);
  return parseSettings(edgeSettings, {
    ...others,
    CHAT_BODY_BYTES: CHAT_BODY_BYTES || String(WORKER_LIMITS.mostBodyBytes),
  });
}

export function edgeConfigOf(settings: EdgeSettings): GatewayConfig {
  const config = configOf(settings, { ...WORKER_LIMITS, pricesFile: settings.PRICES_FILE ?? null });
  return { ...config, ledgerIsFar: true };
}

/** What a partition's object needs itself: the retention of receipts, and the partition of the primary chain. */
export function objectSettingsOf(given: Given): { receiptMs: number; chain: Partition } {
  const settings = parseSettings(objectSettings, textsOf(given));
  return { receiptMs: settings.RECEIPT_RETENTION_DAYS * DAY_MS, chain: chainPartition(settings.PRIMARY_CHAIN_ID) };
}

/** The settings as texts: a variable of a Worker may be JSON. */
function textsOf(given: Given): Record<string, string | undefined> {
  const named = Object.keys(edgeSettings.shape).filter((name) => given[name] !== undefined);
  return Object.fromEntries(
    named.map((name) => {
      const value = given[name];
      return [name, typeof value === "string" ? value : JSON.stringify(value)];
    }),
  );
}

const objectSettings = gatewaySettings.pick({ RECEIPT_RETENTION_DAYS: true, PRIMARY_CHAIN_ID: true });
