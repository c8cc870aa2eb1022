import type { GatewayConfig } from "@inference/gateway/config";
import { largestShare } from "@inference/gateway/limits/held-bodies";
import { configOf, type GatewaySettings, gatewaySettings, parseSettings } from "@inference/gateway/settings";
import { DAY_MS } from "@inference/protocol/window";

/**
 * The limits of a Worker. It runs for at most 30 s after its client has disconnected: up to 25 s to read the provider's
 * answer, the rest to settle. It has 128 MB of memory, including its code.
 */
const WORKER_LIMITS = { mostDrainMs: 25_000, heldBodyBytes: 16 * 1024 * 1024, heldAnswerBytes: 16 * 1024 * 1024 };
/** The largest chat body that fits, which is smaller than on Node. */
const DEFAULT_CHAT_BODY_BYTES = largestShare(WORKER_LIMITS.heldBodyBytes);

/** The Worker's bindings, with variables and secrets. */
type Given = Readonly<Record<string, unknown>>;

/** Throws `SettingsError` with everything that is missing or invalid. */
export function settingsOf(given: Given): GatewaySettings {
  const { CHAT_BODY_BYTES, ...others } = given as Record<string, string | undefined>;
  return parseSettings(gatewaySettings, {
    ...others,
    CHAT_BODY_BYTES: CHAT_BODY_BYTES || String(DEFAULT_CHAT_BODY_BYTES),
  });
}

export function edgeConfigOf(settings: GatewaySettings): GatewayConfig {
  return configOf(settings, { ...WORKER_LIMITS, pricesFile: settings.PRICES_FILE ?? null });
}

/** The retention of receipts, the only setting that an object needs for its alarm. */
export function receiptMsOf(given: Given): number {
  const settings = parseSettings(receiptSettings, given as Record<string, string | undefined>);
  return settings.RECEIPT_RETENTION_DAYS * DAY_MS;
}

const receiptSettings = gatewaySettings.pick({ RECEIPT_RETENTION_DAYS: true });
