/** The events that a wallet's webhook can be told, and a `ping`, which only a test sends. */
export const webhookEvents = [
  "balance.low",
  "key.limit_near",
  "key.limit_reached",
  "credit.added",
  "offer.ended",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** The part of a key's limit at which webhooks are told that it is near, in percent. */
export const NEAR_LIMIT_PERCENT = 80;

/** The longest URL of a webhook, in characters. */
export const MAX_WEBHOOK_URL = 512;
