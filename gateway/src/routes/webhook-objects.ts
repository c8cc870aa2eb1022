import type { Notice, Webhook } from "@inference/ledger/commands";
import { fail } from "@inference/protocol/errors";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";

/** A webhook as the API shows it. */
export function toWebhookObject({ id, url, events, thresholdNanoUsd, createdAt }: Webhook) {
  return {
    id,
    url,
    events,
    ...amounts({ threshold: thresholdNanoUsd }),
    created_at: new Date(createdAt).toISOString(),
  };
}

/** A notice as a delivery of the log. */
export function toDeliveryObject({ id, webhook, event, at, tries, triedAt, nextAt, isDelivered, result }: Notice) {
  return {
    id,
    webhook_id: webhook,
    type: event.type,
    created_at: new Date(at).toISOString(),
    status: isDelivered ? "delivered" : nextAt === null ? "given_up" : "pending",
    attempts: tries,
    last_attempt_at: isoOrNull(triedAt),
    next_attempt_at: isoOrNull(nextAt),
    result,
  };
}

export function unknownWebhook(id: string): never {
  return fail("not_found", `This account has no webhook \`${id.slice(0, 64)}\`: see GET /api/v1/webhooks.`);
}
