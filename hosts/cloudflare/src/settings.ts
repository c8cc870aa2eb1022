import type { GatewayConfig } from "@inference/gateway/config";
import { largestShare } from "@inference/gateway/limits/held-bodies";
import { configOf, type GatewaySettings, gatewaySettings, parseSettings } from "@inference/gateway/settings";
import { DAY_MS } from "@inference/protocol/window";

/**
 * What a Worker can do for the gateway. After its client has gone it has 30 s in all, for whatever it said it waits
 * for: the provider is read for 25 of them at most, and the rest is for settling. And it has 128 MB, code and all.
 */
const WORKER_LIMITS = { mostDrainMs: 25_000, heldBodyBytes: 16 * 1024 * 1024, heldAnswerBytes: 16 * 1024 * 1024 };
/** The largest chat that fits there, which is less than elsewhere. */
const DEFAULT_CHAT_BODY_BYTES = largestShare(WORKER_LIMITS.heldBodyBytes);

/** Variables and secrets, and what else a Worker is bound to. */
type Given = Readonly<Record<string, unknown>>;

/** Throws `SettingsError` naming all that is missing or wrong. */
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

/** How long the operator wants receipts kept: all that an object has to know for its alarm. */
export function receiptMsOf(given: Given): number {
  const settings = parseSettings(receiptSettings, given as Record<string, string | undefined>);
  return settings.RECEIPT_RETENTION_DAYS * DAY_MS;
}

const receiptSettings = gatewaySettings.pick({ RECEIPT_RETENTION_DAYS: true });
